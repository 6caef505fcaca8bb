"""Recorded histories of every shape a task can have: what a release must still replay.

A history that no longer replays is a task that breaks when its worker is upgraded. Then the change
belongs behind `workflow.patched`, and the history stays. Histories are recorded anew
(`python -m tests.replay.record`) only for shapes that no release has written yet.
"""
