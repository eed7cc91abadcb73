"""Findings proved by execution: torch is asked whether it does what a finding says.

    prove     from a finding to a verdict: whole programs first, then slices of them
    prepare   a program made harmless, with holes for made-up values; slices of it, and ways to get at a place
    gate      what may enter a repro at all: an allow-list of statements, names, and attributes
    run       the process that executes repros, as its user sees it; values are tried, and proofs cut down
    worker    that process: torch is loaded once, each repro has a child of its own behind walls
    check     what a run proves about a finding: torch's error, or a measure
    effects   the measures of silent effects

Nothing here runs unless it is asked for, and only `worker`, in a process of its own, imports torch.
"""
