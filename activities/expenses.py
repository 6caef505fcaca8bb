"""Read an expense from a client's message, and pay it."""

import asyncio
import re
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Gt, Len
from pydantic import TypeAdapter, ValidationError
from temporalio import activity

from a2a_temporal import PublicError
from activities.outside import take_effect

_SENTENCE = re.compile(
    r"(?P<amount>\d+(\.\d{1,2})?)\s+(?P<currency>[A-Z]{3})\s+to\s+(?P<payee>.+?)"
    r"(\s+for\s+(?P<purpose>.+))?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Expense:
    """Money somebody wants to be paid."""

    amount: Annotated[float, Gt(0)]
    currency: Annotated[str, Len(3, 3)]
    payee: Annotated[str, Len(1)]
    purpose: str = ""

    def __str__(self) -> str:
        purpose = f" for {self.purpose}" if self.purpose else ""
        return f"{self.amount:.2f} {self.currency} to {self.payee}{purpose}"


@activity.defn
async def read_expense(text: str, data: Any) -> Expense:
    """Make an expense from a message's data, or from its text.

    Raises:
        PublicError: Neither says how much is to be paid to whom.
    """
    sentence = _SENTENCE.fullmatch(text.strip())
    given = data if data is not None else sentence and sentence.groupdict(default="")
    if given is None:
        raise PublicError(
            "Write '42.50 EUR to Blue Taxi for the airport ride', or send data such as "
            '{"amount": 42.5, "currency": "EUR", "payee": "Blue Taxi", "purpose": "airport ride"}.'
        )
    try:
        return TypeAdapter(Expense).validate_python(given)
    except ValidationError as error:
        problems = "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in error.errors())
        raise PublicError(f"This is no expense that can be paid: {problems}.") from error


@activity.defn
async def pay(expense: Expense, key: str) -> str:
    """Pay an expense, once for each key. Returns the receipt's number."""
    await asyncio.to_thread(take_effect, "payment", key, paid=str(expense))
    return f"R-{key[:8].upper()}"
