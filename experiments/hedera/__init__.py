"""The measurements and simulations of Hedera's authors, and goals of our own, in the flow model and on switches."""
