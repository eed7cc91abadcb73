"""Findings proved by execution: torch is asked whether it does what a finding says.

    safety    what may enter a repro at all: an allow-list of statements, names, and attributes
    sandbox   the process that executes repros, as its user sees it; `ran` is what comes back
    worker    that process: torch is loaded once, each repro has a child of its own behind walls
    verdict   what a run proves about a finding

Nothing here runs unless it is asked for, and only `worker`, in a process of its own, imports torch.
"""
