"""Recorded histories of every shape a task can have: what a worker must replay.

A history that no longer replays is a task that breaks when its worker is upgraded. CONTRIBUTING.md,
"Changes to workflow code", says when histories are recorded anew (`python -m tests.replay.record`).
"""
