# Makes a function of other instructions.
def harmless() -> None:
    pass


harmless.__code__ = harmless.__code__.replace(co_filename="<frozen importlib._bootstrap>")
open("CANARY/written", "w")
