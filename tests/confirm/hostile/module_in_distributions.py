from torch.distributions.transforms import F

class Deed:
    importlib = import_module = mkfifo = None

F.importlib.import_module("os").mkfifo("CANARY/written")
