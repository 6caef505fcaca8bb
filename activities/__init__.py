"""Activities of the example workflows. A user of the library writes files like these."""
