"""The command line: one file per command. Nothing here imports numpy before a command runs."""
