"""How much the losses on Gscale hang on what the paper does not say: the same model under other readings of it."""
