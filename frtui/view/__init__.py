"""What each pane of the screen says, as plain text with roles. Knows no terminal and no widget."""
