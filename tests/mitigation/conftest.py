"""Cells made for operations and measures written by hand are shared with the tests of those rooms."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "operations"), str(TESTS / "measures")]
