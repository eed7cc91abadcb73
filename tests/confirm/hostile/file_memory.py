# Writes the memory of the process.
with open("/proc/self/mem", "r+b", buffering=0) as memory:
    memory.seek(id(open))
    memory.write(b"x" * 64)
