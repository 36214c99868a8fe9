"""Physical boxes as a testbed: their inventory, SSH, what is checked, changed, recorded and put back on them."""
