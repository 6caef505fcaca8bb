"""Example workflows, written as a user of `a2a_temporal` would write them."""
