# `__del__` with an effect, when all is over.
class Model:
    def __del__(self):
        open("CANARY/written", "w")


model = Model()
