"""Which flows there are: between whom, how large, and from when on."""
