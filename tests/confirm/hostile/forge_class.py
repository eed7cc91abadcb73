# An error class of its own with torch's name.
import warnings


class Error(UserWarning):
    pass


Error.__name__ = "RuntimeError"
warnings.simplefilter("error")
warnings.warn("a leaf Variable that requires grad is being used in an in-place operation.", Error)
