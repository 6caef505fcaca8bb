"""``a2a-temporal demo``: the point of the library, shown with real processes that really die."""
