"""An OpenFlow switch and a network of them in this process: what tables do to a packet, without any switch."""
