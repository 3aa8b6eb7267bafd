"""Defaults shown in the command's help, without heavy imports."""

SAMPLES = 10_000
"""Bootstrap resamples: p-values down to 1/10,001 leave room for Holm's correction."""
EXAMPLES = 5
"""Number of best and of worst texts of each model."""
