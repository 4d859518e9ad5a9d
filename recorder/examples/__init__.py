"""Jobs that go wrong on purpose, to see what is left of them."""
