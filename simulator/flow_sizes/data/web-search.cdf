# Web search, a cluster of 6000 servers (Alizadeh et al., DCTCP, SIGCOMM 2010).
# Points: DCTCP_CDF.txt of github.com/snowzjx/ns3-load-balance (examples/load-balance) and of
# github.com/HKUST-SING/TrafficGenerator (conf). Bytes, probability of no more.
0 0
10000 0.15
20000 0.2
30000 0.3
50000 0.4
80000 0.53
200000 0.6
1000000 0.7
2000000 0.8
5000000 0.9
10000000 0.97
30000000 1
