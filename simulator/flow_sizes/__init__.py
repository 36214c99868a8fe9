"""How large flows are: measured distributions, and those that users bring."""
