# A text in a form of typing is code, and a text in a call once made an attribute readable.
import typing

print("_evaluate")
typing.Union["__import__('os').mkdir('CANARY/written')"]._evaluate({}, {}, frozenset())
