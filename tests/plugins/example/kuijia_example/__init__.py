"""One scheme, objective, topology format, transport and experiment for Kuijia."""
