"""Reference implementations of the kernels, slow and obvious: tests and benchmarks compare the kernels with them."""
