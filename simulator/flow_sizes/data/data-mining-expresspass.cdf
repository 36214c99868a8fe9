# Data mining, as the ExpressPass simulations have it (Cho et al., SIGCOMM 2017); its mean is 0.59 of data-mining's.
# Points: workloads/workload_mining.tcl of github.com/kaist-ina/ns2-xpass. Bytes, probability of no more.
100 0
10000 0.8
152522 0.8346
390541 0.9
3223542 0.953846
100000000 0.99
1000000000 1
