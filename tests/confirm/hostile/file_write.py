# Writes a file.
with open("CANARY/written", "w") as file:
    file.write("x")
