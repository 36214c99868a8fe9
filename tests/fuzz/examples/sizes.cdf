# interpolation: logarithmic
100 0
1000 0.15 # comment
10000,0.5
1e6	1
