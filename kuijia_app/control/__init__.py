"""Parts of a controller: connections to switches, rollout of plans, liveness, roles."""
