# From a builtin function to its module.
print.__self__.open("CANARY/written", "w")
