"""Clones, process trees, isolation, and the environment that a child may see."""
