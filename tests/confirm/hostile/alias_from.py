# A function under another name.
from torch import save as relu

relu(1, "CANARY/written")
