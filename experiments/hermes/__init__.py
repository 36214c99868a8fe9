"""The experiments of the Hermes paper (Zhang et al., SIGCOMM 2017) in the packet model."""
