"""Publish an article."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Len
from temporalio import activity

from activities.outside import take_effect


@dataclass(frozen=True)
class Article:
    """What is reviewed: an editor may change both before saying yes."""

    title: Annotated[str, Len(1, 120)]
    body: Annotated[str, Len(1)]


@activity.defn
async def publish(article: Article, key: str) -> str:
    """Publish an article, once for each key. Returns its address."""
    await asyncio.to_thread(take_effect, "article", key, title=article.title, body=article.body)
    return f"https://news.example/{key[:8]}"
