"""Programs that nobody would write, put before the checker: `python -m tests.fuzz`."""
