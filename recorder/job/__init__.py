"""What runs inside a rank: recording its calls, and writing its dump."""
