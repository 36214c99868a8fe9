"""The experiments of the CQRD papers (Chen et al., IEEE LCN 2014; Computer Networks 91, 2015) in the packet model."""
