"""What integration and chaos tests stand on: real processes, real sockets, bounded waits.

`processes` starts and kills; `temporal_server` and `cluster` are the two kinds of thing started;
`calls`, `frames` and `results` speak A2A over JSON-RPC and REST without the official client's
opinions, `sdk` with them; `ledger` reads what the agent really did; `waiting` is the only place
that waits.
"""
