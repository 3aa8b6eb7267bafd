"""What the benchmarks share: tables, machine, provenance, records, and the sections of docs/benchmarks.md."""
