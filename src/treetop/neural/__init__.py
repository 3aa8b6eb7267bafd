"""Room 5: texts and labels → networks. One training loop serves them all. Needs torch."""
