"""Records as the JSON that GitHub's REST API and webhooks give. Pure; every field that GitHub requires is there."""
