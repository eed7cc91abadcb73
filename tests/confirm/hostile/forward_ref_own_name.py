# The name is one of the program's own, and is read of something else.
from typing import Union as U

class Deed:
    def _evaluate(self):
        return self._evaluate({}, {}, frozenset())

Deed._evaluate(U["__import__('os').mkdir('CANARY/written')"])
