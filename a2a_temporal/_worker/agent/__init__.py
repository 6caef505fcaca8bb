"""The agent of a task: the loop of its turns, and the activity that runs each of them."""
