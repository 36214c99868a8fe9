"""Traffic engineering for wide-area networks: topologies, demands, tunnels and the plans computed from them."""
