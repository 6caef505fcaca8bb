"""What a workflow returns, as the artifact of its task."""

import json
import logging
from collections.abc import Callable
from typing import Any

from a2a.types.a2a_pb2 import Artifact, Part
from google.protobuf import json_format

from a2a_temporal._log.protojson import check_depth, from_json, to_json

logger = logging.getLogger("a2a_temporal.server")


def result_artifact(
    result: Any, render: Callable[[Any], list[Part]] | None, task_id: str
) -> Artifact:
    """Return a workflow's result as an artifact, whose parts ``render`` makes where it can."""
    if render is not None:
        try:
            return _artifact_of(render(result))
        except Exception:  # whatever an author's code raises: the task stays readable
            logger.exception("The result of task %s is shown as it is", task_id)
    return _artifact_of(result_parts(result))


def _artifact_of(parts: list[Part]) -> Artifact:
    """Return parts as the artifact of a result, if A2A's JSON can hold them."""
    artifact = Artifact(artifact_id="result", name="result", parts=parts)
    for part in artifact.parts:
        check_depth(part)
    to_json(artifact)
    return artifact


def result_parts(result: Any) -> list[Part]:
    """Return a workflow's result as a part: text as text, anything else as data.

    What A2A's JSON cannot hold becomes text.
    """
    if isinstance(result, str):
        return [_text_part(result)]
    try:
        part = from_json({"data": result}, Part())
        check_depth(part)
        to_json(part)
    except (json_format.Error, OverflowError, RecursionError, TypeError, ValueError):
        return [_text_part(_written(result))]
    return [part]


def _text_part(text: str) -> Part:
    return Part(text=text.encode("utf-8", "replace").decode())  # half a character is no text


def _written(result: Any) -> str:
    try:
        return json.dumps(result, default=str, sort_keys=True)
    except (RecursionError, TypeError, ValueError):
        return "The result cannot be shown."
