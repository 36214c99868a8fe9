"""What Hedera's authors measured and simulated, and goals of our own, in the flow model."""
