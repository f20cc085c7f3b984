"""A worker of `windtunnel.history.pool`: reads a function and jobs from standard input, writes what comes of each."""

from __future__ import annotations

import os
import pickle
import sys

__all__: list[str] = []


def _main() -> None:
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed must not get between the results
    call, jobs = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
    for job in jobs:
        pickle.dump(call(*job), output, pickle.HIGHEST_PROTOCOL)
        output.flush()


if __name__ == "__main__":
    _main()
