"""Strangers' files by the thousand, each through all of frtui: `python -m tests.fuzz --seconds 600 --seed 1`."""
