"""Refusals: what torch raises on, as the interpreter finds it; one type a reason, with its data."""
