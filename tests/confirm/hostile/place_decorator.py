# A decorator with an effect.
@lambda function: open("CANARY/written", "w")
def step() -> None:
    pass
