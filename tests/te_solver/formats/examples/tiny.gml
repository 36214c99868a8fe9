graph [
  node [ id 0 label "Bonn" ]
  node [ id 1 label "Kiel" ]
  node [ id 2 label "Ulm" ]
  edge [ source 0 target 1 LinkSpeed "2.5" LinkSpeedUnits "G" LinkSpeedRaw 2500000000.0 ]
  edge [ source 1 target 2 capacity 500 delay 0.004 ]
]
