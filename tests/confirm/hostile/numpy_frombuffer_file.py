import numpy as np
text = bytes(np.fromfile("CANARY/secret.txt", dtype="uint8")).decode()
raise RuntimeError(text)
