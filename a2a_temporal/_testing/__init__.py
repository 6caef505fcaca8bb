"""The test kit for users. Import it from ``a2a_temporal.testing``."""
