"""Corpora of code: datasets, archives and directories of many repositories, checked on one machine or on a cluster."""
