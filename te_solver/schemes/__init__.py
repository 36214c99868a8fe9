"""Schemes that reroute traffic when links or nodes fail: one per file, all behind one interface."""
