"""What is written of a run besides findings: as JSON, as a table on the terminal, and as a page."""
