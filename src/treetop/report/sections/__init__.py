"""Sections of a page, one file each: from the evidence to texts, tables and pictures."""
