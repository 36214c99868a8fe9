"""Controllers and schedulers as processes."""
