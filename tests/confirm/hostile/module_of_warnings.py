import warnings
warnings.sys.modules["os"].mkdir("CANARY/written")
