"""The agent that every test talks to: an ordinary `AgentExecutor`, driven by commands in the text.

`commands.py` is the table of what it can do, `ledger.py` writes down what it really did, `card.py`
says what it offers, and `__main__.py` starts it as separate API and worker processes. Nothing in
here but the start-up knows that Temporal is underneath.
"""
