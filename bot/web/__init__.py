"""Pages and JSON of the instance. Now: health; the dashboard and the API come with their issues."""
