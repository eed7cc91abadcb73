# A class body with an effect.
class Model:
    file = open("CANARY/written", "w")
