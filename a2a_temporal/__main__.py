"""``python -m a2a_temporal`` is the command ``a2a-temporal``."""

from a2a_temporal._cli import main

if __name__ == "__main__":
    main()
