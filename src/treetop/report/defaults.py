"""Defaults that the command shows in its help; it imports nothing else for them."""

SAMPLES = 10_000
"""Redraws of the texts: a p-value can be as small as 1/10,001, which leaves room for its correction."""
EXAMPLES = 5
"""Best and worst texts of each model."""
