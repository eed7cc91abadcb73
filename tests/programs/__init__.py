"""Whole programs, each right as written, and mutations that put one known defect into them."""
