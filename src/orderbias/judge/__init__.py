"""Pairs and verdicts: reading them, the swap report, human agreement, length and self-preference."""
