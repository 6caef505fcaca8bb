"""What is no secret: too short, of few different characters, or a placeholder out of an example."""

import re

SHORTEST_SECRET = 16
_FEWEST_DIFFERENT = 6
_PLACEHOLDER = re.compile(
    r"(change|replace).?(me|this)|your.?(secret|token)|example", re.IGNORECASE
)


def is_guessable(secret: str) -> bool:
    """Say whether somebody may guess a secret, or has read it in a public file."""
    return (
        len(secret) < SHORTEST_SECRET
        or len(set(secret)) < _FEWEST_DIFFERENT
        or _PLACEHOLDER.search(secret) is not None
    )
