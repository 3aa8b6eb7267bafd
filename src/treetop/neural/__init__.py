"""Texts and labels → networks. One training loop serves them all. Needs torch."""
