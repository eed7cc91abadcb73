import typing

T = typing.TypeVar("T", bound="__import__('os').mkdir('CANARY/written')")

class Deed:
    def _evaluate(self):
        return self._evaluate({}, {}, frozenset())

Deed._evaluate(T.__bound__)
