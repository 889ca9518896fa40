"""Real servers of other makers' protocols, started as processes by tests."""
