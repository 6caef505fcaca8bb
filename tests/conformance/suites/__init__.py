"""Third-party black-box suites against the bench agent: `python -m tests.conformance.suites`."""
