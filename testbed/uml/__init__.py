"""A Linux kernel that runs as a program of this machine, with features that the machine's own kernel lacks."""
