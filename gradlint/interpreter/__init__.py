"""The abstract machine: what a program does on the abstract torch, as events."""
