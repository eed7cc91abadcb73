import random
random._os.mkdir("CANARY/written")
