"""The project's Python environment, found and read as source."""
