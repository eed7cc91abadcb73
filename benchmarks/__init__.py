"""Measurements of gradlint as a whole: how fast it is, and how much of torch that programs call it knows."""
