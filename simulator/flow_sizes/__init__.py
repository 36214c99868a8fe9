"""Flow sizes: measured distributions, and those that users bring."""
