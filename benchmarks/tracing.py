"""Which of our modules and functions run: a profile function that notes every call of the package.

A module counts under the name of its file, so that what the workflow sandbox imports anew counts
once. The test kit is not counted: it stands in for the client.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import a2a_temporal
from a2a_temporal._log.state import begin

_PACKAGE = Path(str(a2a_temporal.__file__)).parent
_NOT_COUNTED = ("_testing", "testing")
_BEGIN = begin.__code__
_WORKFLOW_THREADS = "temporal_workflow"


@dataclass
class Trace:
    """What ran while it was on.

    Attributes:
        modules: Modules of the package that were entered.
        functions: Their functions, each as module, line and name.
        folds: How often a state was made from a start event, by side: ``server``, ``worker`` (an
            activity that reads a log) or ``workflow`` (its own log, once for each run).
        entered: For each asyncio task of the request, the modules of ``_server`` it entered, in
            order; a function counts when it is called first, so loops make no difference.
    """

    modules: set[str] = field(default_factory=set[str])
    functions: set[tuple[str, int, str]] = field(default_factory=set[tuple[str, int, str]])
    folds: Counter[str] = field(default_factory=Counter[str])
    entered: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def returns(self) -> int:
        """How often a task of the request entered a server module again that it had left."""
        return sum(len(modules) - len(set(modules)) for modules in self.entered.values())


_running: Trace | None = None
_request: contextvars.ContextVar[Trace | None] = contextvars.ContextVar("request", default=None)


@contextlib.contextmanager
def profiled() -> Generator[None]:
    """Let calls be noted, in this thread and in all that are started while the block lasts."""
    threading.setprofile(_profile)
    sys.setprofile(_profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@contextlib.contextmanager
def tracing() -> Generator[Trace]:
    """Note every call in this process while the block lasts; what it awaits is the request."""
    global _running
    trace = Trace()
    token = _request.set(trace)
    _running = trace
    try:
        yield trace
    finally:
        _running = None
        _request.reset(token)


def _profile(frame: FrameType, event: str, _: Any) -> None:
    trace = _running
    if trace is None or event != "call":
        return
    code = frame.f_code
    module = _module(code.co_filename)
    if not module or (code.co_name.startswith("<") and code.co_name != "<lambda>"):
        return
    if code is _BEGIN:
        trace.folds[_side(frame)] += 1
    function = (module, code.co_firstlineno, code.co_name)
    if function in trace.functions:
        return
    trace.functions.add(function)
    trace.modules.add(module)
    if module.startswith("_server.") and _request.get() is trace:
        entered = trace.entered[_task()]
        if entered[-1:] != [module]:
            entered.append(module)


@cache
def _module(file: str) -> str:
    """Return the module of a file of the package, without its name; empty for any other file."""
    path = Path(file)
    if _PACKAGE not in path.parents:
        return ""
    parts = path.relative_to(_PACKAGE).with_suffix("").parts
    return "" if parts[0] in _NOT_COUNTED else ".".join(parts)


def _side(frame: FrameType) -> str:
    if threading.current_thread().name.startswith(_WORKFLOW_THREADS):
        return "workflow"
    caller = frame.f_back
    while caller is not None:
        if _module(caller.f_code.co_filename).startswith("_worker."):
            return "worker"
        caller = caller.f_back
    return "server"


def _task() -> int:
    try:
        return id(asyncio.current_task())
    except RuntimeError:  # a thread without an event loop
        return 0
