"""Linear programs that divide demands over tunnels: one objective per file, found by name in the registry."""
