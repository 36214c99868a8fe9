"""Plans in the flow model and the packet model as networks whose time goes on, with links, plans and flows to steer."""
