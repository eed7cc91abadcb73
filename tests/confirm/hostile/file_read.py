# Reads a file and gives it away in the text of an error.
text = open("CANARY/secret.txt").read()
raise ValueError(text)
