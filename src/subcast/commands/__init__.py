"""What the commands show: the library's results as text and pictures."""
