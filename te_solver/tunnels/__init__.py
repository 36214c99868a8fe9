"""The search for the tunnels of pairs of nodes."""
