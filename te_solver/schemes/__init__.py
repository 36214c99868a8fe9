"""Failure schemes: what users select by name."""
