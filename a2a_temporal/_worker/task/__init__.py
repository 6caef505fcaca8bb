"""The task of a workflow: its log, what authors call, and the guards around their code."""
