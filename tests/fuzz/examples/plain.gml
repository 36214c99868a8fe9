graph [ directed 1 node [ id 5 ] node [ id 6 ] edge [ source 6 target 5 capacity 3 delay 0.5 ] ]
