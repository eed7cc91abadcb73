import warnings

def show(message, category, filename, line, file=None, text=None):
    open("CANARY/written", "w")

warnings.showwarning = show
warnings.warn("a leaf Variable that requires grad is used")
