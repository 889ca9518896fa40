"""Runs: what may start now (pure), performing it, and recording everything it led to in one transaction."""
