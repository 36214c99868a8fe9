# Web servers at Facebook (Roy et al., SIGCOMM 2015), as the ExpressPass simulations have them.
# Points: workloads/workload_webserver.tcl of github.com/kaist-ina/ns2-xpass. Bytes, probability of no more.
150 0
300 0.12
300 0.2
600 0.2
1000 0.3
2000 0.4
3100 0.5
6000 0.6
20000 0.71
60000 0.8
150000 0.82
300000 0.9
500000 1
