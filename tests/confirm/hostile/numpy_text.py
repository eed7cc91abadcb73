import numpy as np
np.savetxt("CANARY/written", np.ones(3))
