"""The concrete machine: it runs a program under real torch, watches, and names faults as the detectors do.

Everything here but `start.py` and `places.py` imports torch, and is loaded after the program has imported it.
"""
