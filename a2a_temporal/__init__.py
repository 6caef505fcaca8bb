"""Durable A2A servers: every A2A task is a Temporal workflow, its history is the task's log.

Follow one request with the finger::

    HTTP → _app → _server.handler → start or signal the workflow          (API process)
         → _worker.agent.workflow → _worker.agent.attempt → your agent    (worker process)
         → _worker.agent.event_queue → the log (workflow history)
         → _reading.reader → _log.fold → _server.feed → HTTP              (any API process)

Names load on first use, so that workflow code never imports the server half.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from a2a_temporal._agent import Agent, start_task
    from a2a_temporal._app import create_app
    from a2a_temporal._connect import connect
    from a2a_temporal._encryption import EncryptionCodec
    from a2a_temporal._grpc import create_grpc_server
    from a2a_temporal._push_options import PushOptions
    from a2a_temporal._server.handler import TemporalRequestHandler
    from a2a_temporal._server.options import HandlerOptions
    from a2a_temporal._server.plain import PlainWorkflow, Signal
    from a2a_temporal._storage import FileSystemStorage
    from a2a_temporal._worker.options import AgentOptions
    from a2a_temporal._worker.plugin import A2APlugin
    from a2a_temporal.errors import PublicError, RetryableError
    from a2a_temporal.inbox import create_inbox

__all__ = [
    "A2APlugin",
    "Agent",
    "AgentOptions",
    "EncryptionCodec",
    "FileSystemStorage",
    "HandlerOptions",
    "PlainWorkflow",
    "PublicError",
    "PushOptions",
    "RetryableError",
    "Signal",
    "TemporalRequestHandler",
    "connect",
    "create_app",
    "create_grpc_server",
    "create_inbox",
    "start_task",
]

_workflow = sys.modules.get("temporalio.workflow")
if _workflow is not None and _workflow.unsafe.in_sandbox():
    # With the plugin, workflows get the module that their worker has loaded.
    raise ImportError(
        "This worker lacks the A2APlugin, without which no workflow that uses a2a_temporal can "
        "run: write Worker(client, ..., plugins=[A2APlugin()]), or use Agent.worker()."
    )

_HOMES = {
    "A2APlugin": "a2a_temporal._worker.plugin",
    "Agent": "a2a_temporal._agent",
    "AgentOptions": "a2a_temporal._worker.options",
    "EncryptionCodec": "a2a_temporal._encryption",
    "FileSystemStorage": "a2a_temporal._storage",
    "HandlerOptions": "a2a_temporal._server.options",
    "PlainWorkflow": "a2a_temporal._server.plain",
    "PublicError": "a2a_temporal.errors",
    "PushOptions": "a2a_temporal._push_options",
    "RetryableError": "a2a_temporal.errors",
    "Signal": "a2a_temporal._server.plain",
    "TemporalRequestHandler": "a2a_temporal._server.handler",
    "connect": "a2a_temporal._connect",
    "create_app": "a2a_temporal._app",
    "create_grpc_server": "a2a_temporal._grpc",
    "create_inbox": "a2a_temporal.inbox",
    "start_task": "a2a_temporal._agent",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
