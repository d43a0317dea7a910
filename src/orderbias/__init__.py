"""How much of a multiple-choice score comes from the order in which the options were shown."""

__version__ = "0.1.0"
