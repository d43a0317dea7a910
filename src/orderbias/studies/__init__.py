"""Questions asked of many cells at once, one module a question; each returns a table value."""
