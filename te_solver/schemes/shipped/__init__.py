"""Failure schemes, one file each: whom a scheme demotes, how switches fail over under it, and its model."""
