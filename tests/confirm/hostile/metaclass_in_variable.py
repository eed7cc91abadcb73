kind = type(int)

class Meta(kind):
    def __call__(cls, *given):
        return given

Meta("Deed", (), {"__del__": print})
open("CANARY/written", "w")
