"""What the benchmarks share: tables, machine, provenance, and the sections of docs/benchmarks.md."""
