"""Comparisons for people: tables, Markdown pages and pictures."""
