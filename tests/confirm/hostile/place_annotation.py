# An annotation with an effect.
x: open("CANARY/written", "w") = 1
