"""Add a file to a results branch, and a benchmark to its list: results_adding.py URL BRANCH NAME SCRATCH."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from windtunnel.adapters.remote import Remote
from windtunnel.adapters.results import open_results
from windtunnel.publish.merging import merged_benchmarks
from windtunnel.publish.results import Addition, Written, add

LIST = "asv/benchmarks.json"


def main(url: str, name: str, key: str, scratch: str) -> None:
    with open_results(Remote(url), name, Path(scratch)) as branch:
        before = branch.read(LIST)
        known = json.loads(before or b'{"version": 2}')
        own = json.dumps({**known, key: {"name": key}}).encode()
        files = (
            Written(f"runs/{key}", key.encode() * 1000),
            Written(LIST, own, before, merged_benchmarks),
        )
        added = add(
            branch, Addition(files, f"Record {key}\n", f"runs/{key}"), pause=lambda seconds: time.sleep(seconds / 4)
        )
    sys.stdout.write(added.commit + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
