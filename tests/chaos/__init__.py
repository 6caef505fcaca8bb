"""Clients do everything at once while processes are killed, frozen and started again at random.

`episodes.py` is what clients do, `monkey.py` what happens to the processes, `journal.py` what was
done and seen, and `checker.py` judges that afterwards, as pure functions. Everything is drawn from
one seed: `CHAOS_SEED=n make chaos` makes the same plans again.
"""
