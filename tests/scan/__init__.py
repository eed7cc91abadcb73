"""Scans of corpora on one machine."""
