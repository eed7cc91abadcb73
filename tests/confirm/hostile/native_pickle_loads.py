import numpy as np
np.load("CANARY/evil.pickle", allow_pickle=True)
