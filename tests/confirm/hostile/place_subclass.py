# `__init_subclass__` with an effect.
class Base:
    def __init_subclass__(cls):
        open("CANARY/written", "w")


class Model(Base):
    pass
