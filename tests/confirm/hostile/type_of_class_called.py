type(type(int)(1))("A", (), {"__reduce_ex__": print})
open("CANARY/written", "w")
