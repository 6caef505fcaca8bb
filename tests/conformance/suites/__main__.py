"""Run third-party black-box suites against the bench agent: `python -m tests.conformance.suites`.

Each suite lives in a virtual environment of its own under the cache directory (A2A_SUITES, default
`~/.cache/a2a-temporal-suites`), made on the first run. Each runs against one server and, except
with `--direct`, again through a proxy that spreads its requests over two. `--only NAME` picks,
`--list` names them. A suite whose interpreter or package cannot be had is skipped, and said to be.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Sequence

from tests.conformance.suites.catalog import SUITES, Suite
from tests.conformance.suites.environments import UnavailableError
from tests.conformance.suites.ground import bench_agent, ground
from tests.support.cluster import Cluster


async def run_all(only: Sequence[str], *, direct: bool) -> int:
    """Start an agent, run the suites, and say what came of it."""
    chosen = [suite for suite in SUITES if not only or any(name in suite.name for name in only)]
    results: dict[str, str] = {}
    async with bench_agent() as cluster:
        for suite in chosen:
            for proxied in (False, True) if suite.proxied and not direct else (False,):
                name = f"{suite.name}, two replicas" if proxied else suite.name
                print(f"--- {name}", flush=True)
                began = time.monotonic()
                result = await _result(suite, cluster, proxied=proxied)
                results[name] = f"{result:12} {time.monotonic() - began:4.0f} s"
    for name, result in results.items():
        print(f"{result}  {name}")
    return int(any(result.startswith("FAILED") for result in results.values()))


async def _result(suite: Suite, cluster: Cluster, *, proxied: bool) -> str:
    replicas = max(suite.replicas, 2 if proxied else 1)
    try:
        async with ground(
            cluster,
            suite.api_options,
            replicas=replicas,
            proxied=proxied,
            grpc=suite.grpc,
        ) as servers:
            code = await suite.run(servers)
    except UnavailableError as error:
        return f"skipped ({error})"
    if code == 0:
        return "passed"
    return "FAILED" if suite.judged else "noted"


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance.suites",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--direct", action="store_true", help="not through the proxy")
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args()
    if chosen.list:
        print("\n".join(suite.name for suite in SUITES))
        return 0
    return asyncio.run(run_all(chosen.only, direct=chosen.direct))


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # see tests.bench_agent.__main__
