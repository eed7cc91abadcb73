# A default argument with an effect.
def step(file=open("CANARY/written", "w")) -> None:
    pass
