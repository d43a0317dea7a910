"""``python -m orderbias``: the command line."""

from orderbias.cli import main

main()
