"""The measurement of torch: samples -> probe -> fit -> table. `tools/measure_facts.py` runs it."""
