# Data mining, a cluster of 1500 servers (Greenberg et al., VL2, SIGCOMM 2009).
# Points: VL2_CDF.txt of github.com/snowzjx/ns3-load-balance (examples/load-balance) and of
# github.com/HKUST-SING/TrafficGenerator (conf). Bytes, probability of no more.
0 0
180 0.1
216 0.2
560 0.3
900 0.4
1100 0.5
1870 0.6
3160 0.7
10000 0.8
400000 0.9
3160000 0.95
100000000 0.98
1000000000 1
