"""What to set so that a job leaves dumps, and what is wrong with what is set. Needs no torch."""
