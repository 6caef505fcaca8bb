"""Measurements of the library beside what it is compared with.

``python -m benchmarks.core`` is the entry point; ``bars.py`` says what is measured and what must
hold.
"""
