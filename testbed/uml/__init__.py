"""A Linux kernel that runs as a program of this machine, for what the machine's own kernel lacks."""
