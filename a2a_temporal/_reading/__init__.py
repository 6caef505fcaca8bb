"""Read the logs of tasks from Temporal: one reader, one position, one cache."""
