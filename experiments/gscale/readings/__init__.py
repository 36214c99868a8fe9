"""Sensitivity of the losses on Gscale to choices that the paper leaves open: the same model under other readings."""
