# The builtins by their module.
import builtins

builtins.open("CANARY/written", "w")
