"""Faults, as detectors report them: one type a fault, with the data that rules and confirmation read."""
