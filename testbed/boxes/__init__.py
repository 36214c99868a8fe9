"""Physical boxes as a testbed: inventory, SSH, checks, changes, records and restoration."""
