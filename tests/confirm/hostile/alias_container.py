# A module in a list, beside a method of its own of that name.
import torch


class Log:
    def save(self, *arguments: object) -> None:
        pass


for each in [Log(), torch]:
    each.save(1, "CANARY/written")
