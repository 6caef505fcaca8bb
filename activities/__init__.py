"""The activities of the example workflows."""
