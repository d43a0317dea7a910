"""Scripts of the project: what is shipped or documented is made here."""
