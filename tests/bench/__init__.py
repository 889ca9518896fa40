"""Benchmarks: one module a row of the table in docs/benchmarks.md. `make bench` runs them all, side by side."""
