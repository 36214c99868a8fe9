"""What-if studies: every failure under every scheme, as pictures, a map of the network and a report."""
