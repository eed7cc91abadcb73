"""Scans on a cluster of Ray's: `make ray` runs these, as Ray is large and not among what `make check` installs."""
