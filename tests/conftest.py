"""Settings of every test."""

from hypothesis import settings

# A slow or busy machine must not fail a property.
settings.register_profile("orderbias", deadline=None)
settings.load_profile("orderbias")
