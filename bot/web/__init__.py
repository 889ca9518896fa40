"""Pages and JSON of the instance: health, and gates with their answers."""
