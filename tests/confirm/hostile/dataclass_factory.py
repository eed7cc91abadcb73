from dataclasses import dataclass, field

@dataclass
class Deed:
    made: object = field(default_factory=lambda: __import__("os").mkdir("CANARY/written"))

Deed()
