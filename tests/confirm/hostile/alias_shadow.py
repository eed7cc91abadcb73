# A builtin behind a name that is bound later.
f = open
f("CANARY/written", "w")
open = 1
