"""Findings proved by execution: torch is asked whether it does what a finding says.

    prove      from a finding to a verdict: whole programs first, then slices of them
    evidence   what confirms a finding: the text of torch's error, or a measure
    effects    the measures of silent effects
    sketch     a program made harmless, with holes for made-up values; `slicing` cuts it down to what counts
    entry      how to get at a place; `search` tries values, `raising` and `silence` judge the runs, `shrink` cuts
    safety     what may enter a repro at all: an allow-list of statements, names, and attributes
    sandbox    the process that executes repros, as its user sees it; `ran` is what comes back
    worker     that process: torch is loaded once, each repro has a child of its own behind walls
    verdict    what a run proves about a finding

Nothing here runs unless it is asked for, and only `worker`, in a process of its own, imports torch.
"""
