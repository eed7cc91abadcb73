"""A stand-in for matplotlib: nothing is drawn."""
