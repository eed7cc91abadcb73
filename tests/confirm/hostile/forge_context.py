# Alters the text of an error on its way.
import torch


class Alter:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        error.__init__("a leaf Variable that requires grad is being used in an in-place operation.")


with Alter():
    torch.ones(2).backward()
