# Puts a hook of its own before those of others.
import sys

sys.addaudithook(lambda *event: None)
open("CANARY/written", "w")
