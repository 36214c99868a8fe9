"""The model of `kuijia verify` held against a real Open vSwitch."""
