# Web search, as the ExpressPass simulations have it (Cho et al., SIGCOMM 2017).
# Points: workloads/workload_search.tcl of github.com/kaist-ina/ns2-xpass. Bytes, probability of no more.
9000 0
9000 0.15
18582 0.2
28140 0.3
38913 0.4
77468 0.53
200000 0.6
1000000 0.7
2000000 0.8
5000000 0.9
10000000 0.97
30000000 1
