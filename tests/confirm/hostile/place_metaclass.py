# A metaclass with an effect.
class Meta(type):
    def __init__(cls, *names):
        open("CANARY/written", "w")


class Model(metaclass=Meta):
    pass
