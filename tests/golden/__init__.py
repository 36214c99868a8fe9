"""Hashes of what the product says and computes: a change that should change nothing leaves them equal."""
