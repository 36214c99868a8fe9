"""What happens to each tunnel's traffic when links or nodes fail: one scheme per file, all behind one interface."""
