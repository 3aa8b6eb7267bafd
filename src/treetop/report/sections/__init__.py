"""The sections of a page, one file each: paragraphs, tables and charts from the evidence."""
