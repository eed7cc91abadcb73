# Compiles and runs a text.
exec(compile("open('CANARY/written', 'w')", "torch.py", "exec"))
