"""Faults on a running lab, and the packets that they may cost."""
