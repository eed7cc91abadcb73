# Runs what a pickle says.
import pickle

pickle.loads(b"cos\nsystem\n(S'touch CANARY/written'\ntR.")
