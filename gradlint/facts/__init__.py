"""What torch does, measured: the facts table and its loader.

    table = load()
    entry = table.find("Tensor.mul_")
    resolve(entry.row.saved["input"], {"other": "T"}).must   # -> {"other"}

Names are spelled below `torch`: `mul`, `Tensor.view`, `nn.functional.relu`, `nn.ReLU`, `linalg.norm`. Facts
speak of arguments by the names in the entry's signature (the receiver of a method is its first parameter), of
outputs as `>` (the only one), `>0`, `>1`... (of a tuple) or `>*` (each of a list), and of a module's
parameters and buffers as `p.weight`, `b.running_mean`, `p.*`.
"""

from gradlint.facts.row import (
    UNKNOWN,
    Alias,
    Cond,
    MustMay,
    Param,
    Row,
    Signature,
    Sum,
    Value,
    alias_of,
    resolve,
    resolve_flag,
)
from gradlint.facts.table import Entry, Table, fact, load, method_fact

__all__ = ["UNKNOWN", "Alias", "Cond", "Entry", "MustMay", "Param", "Row", "Signature", "Sum", "Table", "Value"]
__all__ += ["alias_of", "fact", "load", "method_fact", "resolve", "resolve_flag"]
