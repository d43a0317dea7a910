"""Settings of every test."""

import sys
from pathlib import Path

from hypothesis import settings

# What several folders of tests share stands beside this file.
sys.path.insert(0, str(Path(__file__).parent))

# A slow or busy machine must not fail a property.
settings.register_profile("orderbias", deadline=None)
settings.load_profile("orderbias")
