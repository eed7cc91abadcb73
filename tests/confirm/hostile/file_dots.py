# Goes up from an allowed folder.
import os

import torch

raise ValueError(open(os.path.dirname(torch.__file__) + "/../../../../../../../../../../CANARY/secret.txt").read())
