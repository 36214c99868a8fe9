"""The experiments of the FlashPass and ExpressPass papers (ICNP 2021, SIGCOMM 2017) in the packet model."""
