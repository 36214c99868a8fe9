# made by hand
Creator "somebody"
graph [
  directed 0
  label "Tiny"
  node [ id 0 label "Z&#252;rich" Longitude 8.5 Latitude 47.4 ]
  node [ id 1 label "Bern" graphics [ x 1 y 2 ] ]
  node [ id 2 label "None" hyperedge 1 ]
  node [ id 3 label "None" ]
  edge [ source 0 target 1 LinkSpeed "10" LinkSpeedUnits "G" LinkSpeedRaw 10000000000.0 ]
  edge [ source 1 target 2 LinkSpeed "64" LinkSpeedUnits "K" LinkSpeedRaw "" ]
  edge [ source 0 target 1 LinkLabel "1 [Gbit/s]
over two lines" capacity 1000 delay 0.002 ]
  edge [ source 2 target 2 ]
  edge [ source 3 target 2 ]
]
