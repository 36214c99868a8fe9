"""The experiments of the FlashPass paper (Zeng et al., IEEE ICNP 2021) in the packet model."""
