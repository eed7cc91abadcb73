import numpy as np
np.os.mkdir("CANARY/written")
