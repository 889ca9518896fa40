"""Threadsmith: a GitHub bot that turns an issue thread into a place where work gets done."""

__version__ = "0.1.0"
