"""Property tests here are bounded by their number of examples, never by the clock."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "log", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("log")
