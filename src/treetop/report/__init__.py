"""Models and comparisons for people: HTML pages, Markdown, tables and pictures."""
