"""Push notifications: the deliveries of a task, on a task queue of their own."""
