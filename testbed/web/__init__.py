"""The live lab: a web server over a lab or a model of it, the same page for all, and their recordings."""
