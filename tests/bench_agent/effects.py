"""The activity behind a yes: one line in the ledger, once for each key."""

import json
from dataclasses import dataclass

from temporalio import activity

from tests.bench_agent.flow import EFFECT_ACTIVITY
from tests.bench_agent.ledger import Ledger


@dataclass(frozen=True, kw_only=True)
class Effects:
    """Takes effects like a provider that knows idempotency keys: the ledger is its memory."""

    ledger: Ledger

    @activity.defn(name=EFFECT_ACTIVITY)
    async def take(self, task: str, step: str, key: str) -> None:
        """Write the line, unless an earlier attempt has."""
        if not self._known(key):
            attempt = activity.info().attempt
            self.ledger.write(task=task, kind="effect", step=step, attempt=attempt, key=key)

    def _known(self, key: str) -> bool:
        path = self.ledger.path
        if path is None or not path.exists():
            return False
        return any(json.loads(line).get("key") == key for line in path.read_text().splitlines())
