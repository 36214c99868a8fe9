"""The public face: the command line."""
