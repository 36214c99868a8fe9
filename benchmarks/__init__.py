"""Speed and memory against named peers: every figure of one run is measured in that run, on both sides."""
