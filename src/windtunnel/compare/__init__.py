"""From pairs of launches to a verdict: estimates, looks, verdicts, what to measure next. Pure, without I/O."""
