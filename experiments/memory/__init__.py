"""Memory of switches: entries and fields by tagging and pipeline."""
