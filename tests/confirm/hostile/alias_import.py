# A module under another name.
import torch as t

t.save(1, "CANARY/written")
