"""What runs beside or after a job: asking its ranks, and reading the rings of those that can't answer."""
