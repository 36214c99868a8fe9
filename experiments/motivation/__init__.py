"""Tables 2 and 3: four flows, one cut link."""
