"""From a plan to the tables of switches: pure data."""
