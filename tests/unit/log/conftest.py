"""Property tests here are bounded by their number of examples, never by the clock."""

from hypothesis import settings

settings.register_profile("log", deadline=None, max_examples=60)
settings.load_profile("log")
