"""Tables, charts and pages: draws what other rooms computed, and computes nothing."""
