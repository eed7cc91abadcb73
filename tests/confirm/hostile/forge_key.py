# A missing key with the expected text.
import sys

vars(sys)["a leaf Variable that requires grad is being used in an in-place operation."]
