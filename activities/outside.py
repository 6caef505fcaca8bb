"""External systems for the examples: a bank, a cluster and a web site, as files in one directory.

Like a real provider it takes an idempotency key: the same key is one effect, however often it is
asked for. ``EXAMPLES_DIR`` says where the files go.
"""

import json
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

DEFAULT_DIRECTORY = ".a2a-temporal/examples"


def take_effect(kind: str, key: str, **facts: Any) -> bool:
    """Do something once for each key; returns False if it was done before.

    Args:
        kind: What is done, such as ``payment``.
        key: The idempotency key.
        **facts: Written down as JSON.
    """
    directory = Path(os.environ.get("EXAMPLES_DIR", DEFAULT_DIRECTORY))
    directory.mkdir(parents=True, exist_ok=True)
    written = {"kind": kind, "key": key, "at": datetime.now(timezone.utc).isoformat(), **facts}
    try:
        with (directory / f"{kind}-{key}.json").open("x", encoding="utf-8") as file:
            json.dump(written, file)
    except FileExistsError:
        return False
    return True
