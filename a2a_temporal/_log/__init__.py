"""The task log: what an entry is, what it is called on the wire, and how entries fold into a Task.

Pure and safe inside the workflow sandbox. The server half and the worker half never import each
other; they meet here. ``docs/task-log.md`` is the same contract for people and other languages.
"""
