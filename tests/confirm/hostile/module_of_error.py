# An error keeps the module that has no such attribute.
import torch

class Deed:
    obj = os = mkdir = None

try:
    torch.nn.functional.softmaxx
except AttributeError as error:
    error.obj.torch.os.mkdir("CANARY/written")
