"""Dynamic flow scheduling for data-centre networks after Hedera (Al-Fares et al., NSDI 2010)."""
