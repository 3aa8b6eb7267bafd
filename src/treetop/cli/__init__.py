"""The command line: a file for each command. Nothing here imports numpy before a command runs."""
