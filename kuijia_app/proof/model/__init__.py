"""An OpenFlow switch and networks of them as models in this process: they apply tables to packets without switches."""
