"""Example workflows, one a file. Try one: ``a2a-temporal dev workflows.expense:agent``."""
