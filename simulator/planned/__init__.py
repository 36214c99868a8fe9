"""Plans in the packet model: their compiled tables in its switches, failures, notice of them, and changes of plan."""
