import dataclasses

kind = type(int)
A = kind("A", (), {"__annotations__": {"x=open('CANARY/written', 'w')": int}})
dataclasses.dataclass(A)
