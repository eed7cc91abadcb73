"""Findings confirmed by execution."""
