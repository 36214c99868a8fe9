"""Studies that users run on networks of their own: the parts of `kuijia whatif` and `kuijia packet`."""
