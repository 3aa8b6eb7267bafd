"""The parts of readers.py: mutations, valid files, readers (doors) and verdicts."""
