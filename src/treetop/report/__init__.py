"""Reports of models and comparisons: HTML pages, Markdown, tables and plots."""
