"""Pictures of networks and plans."""
