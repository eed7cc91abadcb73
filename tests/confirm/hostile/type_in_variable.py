made = type(int)

def deed(self):
    open("CANARY/written", "w")

A = made("A", (), {"__del__": deed})
A()
