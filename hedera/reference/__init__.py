"""The kernels once more, slow and obvious: what tests hold them to, and benchmarks measure them against."""
