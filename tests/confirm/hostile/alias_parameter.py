# A module as an argument.
import torch


def run(x):
    return x.serialization.save(1, "CANARY/written")


run(torch)
