# Facebook, as one simulation of load balancing has it. The source does not say in which unit sizes are: bytes here.
# Points: FB_CDF.txt of github.com/snowzjx/ns3-load-balance (examples/load-balance). Bytes, probability of no more.
0 0
3 0.28
10 0.32
12 0.44
75 0.5
250 0.75
350 0.9
1000 0.965
2515 0.98
6326 0.99
10032 0.995
15910 0.997
23009 0.9992
24094 0.9996
25000 0.9999
100000 0.99999
1000000 1
