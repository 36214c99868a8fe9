"""The fluid model: flows as rates, queues as strict priorities, sharing as fairness or proportional loss."""
