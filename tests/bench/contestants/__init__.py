"""Others, as they are measured against: a Probot app, DBOS, and scripts that do the same by hand."""
