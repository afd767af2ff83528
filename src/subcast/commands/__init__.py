"""The verbs of the command line: each is a few lines over the library."""
