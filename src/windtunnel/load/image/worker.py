"""The long-lived worker in the load side-car: one JSON request a line in, one JSON answer a line out.

It runs inside the load image (python3 and httpx from Debian), in the network namespace it shares with the target,
and does everything that touches the target: readiness, the answer check, the generator of each slice, and reading
the target's cgroup right before and after it. No `docker exec` per slice, no file system shared with the command.

    {"op": "watch", "containers": ["ID"]}      which containers' cgroups are read
    {"op": "listens", "port": 11211, "timeout": 20}
    {"op": "ready", "port": 80, "path": "/", "status": 200, "timeout": 1, "patience": 20}
    {"op": "check", "port": 80, "method": "GET", "path": "/", "headers": {}, "body": null, "h2": false,
     "keepalive": true, "timeout": 20}
    {"op": "load", "argv": [...], "log": true, "body": null, "deadline": 30}
    {"op": "read"}                             CPU seconds, peak memory, processes killed for memory
    {"op": "probe"}                            the machine: CPU model, cores, governor, cgroup version, load

Answers have "ok": true, or "ok": false and "error". It ends at the end of its standard input, so it never outlives
the command that started it.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

PROTOCOL = 1
CGROUP_ROOT = Path("/host/cgroup")
SCRATCH = Path("/dev/shm")  # noqa: S108 - memory, not disk, and the container is ours alone
BODY = Path("/tmp/body")  # noqa: S108 - where the generators' argv expects a request body
POLL_FASTEST, POLL_SLOWEST = 0.004, 0.05
CLOSING = 0.5
"""Seconds within which a server that was told to close a connection has done so."""


class Cgroup:
    """One container's accounting files: cgroup v1 (a folder per controller) or v2 (one folder)."""

    def __init__(self, folders: dict[str, Path], version: int) -> None:
        self.folders = folders
        self.version = version

    @classmethod
    def find(cls, container: str, root: Path = CGROUP_ROOT) -> Cgroup | None:
        """The cgroup of a container by its id, or None where it can't be seen from here."""
        cpu = next(filter(None, (_locate(root / name, container) for name in ("cpuacct", "cpu,cpuacct"))), None)
        if cpu is not None:
            others = {name: _locate(root / name, container) for name in ("memory", "cpuset")}
            return cls({"cpu": cpu, **{name: path for name, path in others.items() if path}}, 1)
        for top in (root, root / "unified"):
            if (top / "cgroup.controllers").exists() and (folder := _locate(top, container)):
                return cls({"cpu": folder, "memory": folder, "cpuset": folder}, 2)
        return None

    def cpu_seconds(self) -> float | None:
        """CPU seconds used since the container started, ended children included."""
        try:
            if self.version == 1:
                return int((self.folders["cpu"] / "cpuacct.usage").read_text()) / 1e9
            for line in (self.folders["cpu"] / "cpu.stat").read_text().splitlines():
                if line.startswith("usage_usec "):
                    return int(line.split()[1]) / 1e6
        except (OSError, ValueError, KeyError):
            pass
        return None

    def memory_peak(self) -> int | None:
        """Bytes at the highest, page cache included, since the container started."""
        return self._number("memory", ("memory.max_usage_in_bytes",) if self.version == 1 else ("memory.peak",))

    def memory_kills(self) -> int | None:
        """How many of its processes the kernel has killed because the container's memory was used up."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        with contextlib.suppress(OSError, ValueError, KeyError):
            for line in (self.folders["memory"] / name).read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        return None

    def cpuset(self) -> str | None:
        """The processors the kernel really lets it run on."""
        names = ("cpuset.effective_cpus", "cpuset.cpus") if self.version == 1 else ("cpuset.cpus.effective",)
        for name in names:
            with contextlib.suppress(OSError, KeyError):
                return (self.folders["cpuset"] / name).read_text().strip()
        return None

    def _number(self, controller: str, names: tuple[str, ...]) -> int | None:
        for name in names:
            with contextlib.suppress(OSError, ValueError, KeyError):
                return int((self.folders[controller] / name).read_text())
        return None


def _locate(top: Path, container: str) -> Path | None:
    """The folder below `top` whose name carries the container's id: the usual places first, then a search."""
    for guess in (top / "docker" / container, top / "system.slice" / f"docker-{container}.scope"):
        if guess.is_dir():
            return guess
    for folder, names, _ in os.walk(top):
        for name in names:
            if container in name:
                return Path(folder) / name
    return None


def total(values: list[float | None]) -> float | None:
    """The sum, or None as soon as one is not known: a part is not the whole."""
    return None if not values or any(value is None for value in values) else sum(v for v in values if v is not None)


class Worker:
    """The operations; `watch` decides whose cgroups are read."""

    def __init__(self) -> None:
        self.groups: list[Cgroup | None] = []

    def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request's answer."""
        operation = getattr(self, f"op_{request.get('op')}", None)
        if operation is None:
            return {"ok": False, "error": f"unknown operation {request.get('op')!r}"}
        arguments = {key: value for key, value in request.items() if key != "op"}
        return {"ok": True, **operation(**arguments)}

    def op_watch(self, containers: list[str]) -> dict[str, Any]:
        """Find the containers' cgroups; tells which version and on which processors they run."""
        self.groups = [Cgroup.find(container) for container in containers]
        found = [group for group in self.groups if group is not None]
        complete = len(found) == len(containers)
        return {
            "cgroup": found[0].version if found and complete else None,
            "cpusets": [group.cpuset() if group else None for group in self.groups],
        }

    def op_read(self) -> dict[str, Any]:
        """CPU seconds and memory of the first watched container (the target), at a monotonic time."""
        target = self.groups[0] if self.groups else None
        return {
            "cpu": self._cpu(),
            "memory": target.memory_peak() if target else None,
            "memory_kills": target.memory_kills() if target else None,
            "at": time.monotonic(),
        }

    def op_listens(self, port: int, timeout: float) -> dict[str, Any]:
        """Wait until something accepts connections there: what is asked of a service that need not speak HTTP."""
        deadline = time.monotonic() + timeout
        while not (ready := _listens(port)) and time.monotonic() < deadline:
            time.sleep(POLL_FASTEST)
        return {"ready": ready}

    def op_ready(
        self, port: int, path: str, status: int, timeout: float, patience: float, h2: bool = False
    ) -> dict[str, Any]:
        """Ask until the answer has the wanted status; `at` is when that was, in seconds since the epoch.

        After `timeout` seconds nothing more is asked; a question that is open then may take until `patience`.
        `last` is what came of the last question, `status` what the last whole answer had, if there was one.
        """
        now = time.monotonic()
        deadline, end = now + timeout, now + max(timeout, patience)
        pause, attempts, last, seen = POLL_FASTEST, 0, "nothing listens", ""
        while time.monotonic() < deadline:
            attempts += 1
            if _listens(port):
                last = _status(port, path, h2, max(0.1, end - time.monotonic()))
                if last == str(status):
                    return {"ready": True, "at": time.time(), "attempts": attempts, "last": last, "status": last}
                seen = last if last.isdigit() else seen
            time.sleep(pause)
            pause = min(pause * 1.1, POLL_SLOWEST)
        return {"ready": False, "at": time.time(), "attempts": attempts, "last": last, "status": seen}

    def op_check(
        self, port: int, path: str, h2: bool, timeout: float, keepalive: bool = True, **request: Any
    ) -> dict[str, Any]:
        """Ask once with the independent client; the whole body is read and hashed, `timeout` is for all of it.

        Without `keepalive` the connection is to be closed, and `kept` tells whether the server left it open.
        """
        if not keepalive:
            request["headers"] = {**(request.get("headers") or {}), "Connection": "close"}
        try:
            seen = _answer(_url(port, path), h2, timeout, request)
            return {**seen, "kept": not keepalive and _kept(seen["answer"], port, path, timeout, request)}
        except Exception as error:  # noqa: BLE001 - a server can answer with anything; what is wrong is its, not ours
            return {"answer": None, "why": f"{type(error).__name__}: {error}"}

    def op_load(self, argv: list[str], log: str | None, body: str | None, deadline: float) -> dict[str, Any]:
        """Run one generator to its end (or the deadline's); CPU is read right around it."""
        if body is not None:
            BODY.write_text(body)
        if log:
            Path(log).unlink(missing_ok=True)
        with (SCRATCH / "out").open("wb") as out, (SCRATCH / "err").open("wb") as err:
            before, began, started = self._cpu(), time.perf_counter(), time.time()
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            timed_out = not _ended(process.pid, deadline)
            if timed_out:
                process.kill()
            _, status, usage = os.wait4(process.pid, 0)
            wall, after = time.perf_counter() - began, self._cpu()
        return {
            "exit": os.waitstatus_to_exitcode(status),
            "timed_out": timed_out,
            "stdout": (SCRATCH / "out").read_text(errors="replace"),
            "stderr": (SCRATCH / "err").read_text(errors="replace"),
            "log": Path(log).read_text(errors="replace") if log and Path(log).exists() else None,
            "wall": wall,
            "started": started,
            "cpu": None if before is None or after is None else after - before,
            "generator_cpu": usage.ru_utime + usage.ru_stime,
        }

    def op_probe(self) -> dict[str, Any]:
        """What the machine under load is, as far as a container may see it."""
        return {"protocol": PROTOCOL, **probe()}

    def _cpu(self) -> float | None:
        return total([group.cpu_seconds() if group else None for group in self.groups])


def _url(port: int, path: str) -> str:
    return f"http://127.0.0.1:{port}{path}"


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
    except OSError:
        return False
    return True


def _status(port: int, path: str, h2: bool, timeout: float) -> str:
    """The status of one GET, or what went wrong with it."""
    try:
        seen = _answer(_url(port, path), h2, timeout, {"method": "GET"})
    except Exception as error:  # noqa: BLE001 - see op_check
        return f"{type(error).__name__}: {error}"
    return str(seen["answer"]["status"])


def _answer(url: str, h2: bool, timeout: float, request: dict[str, Any]) -> dict[str, Any]:
    """Ask once and read it all: what is known of the answer, and how its body begins.

    Bodies are taken as they come over the wire, and no encoding is asked for unless the workload does: so it is with
    the generators, and what they count is compared with this.
    """
    import httpx

    body = request.get("body")
    digest, length, sample = hashlib.sha256(), 0, b""
    with (
        _within(timeout),
        httpx.Client(http1=not h2, http2=h2, timeout=timeout, trust_env=False) as client,
        _plain(client).stream(
            request["method"], url, headers=request.get("headers"), content=body and body.encode()
        ) as got,
    ):
        for chunk in got.iter_raw():
            digest.update(chunk)
            length += len(chunk)
            sample += chunk[: 400 - len(sample)]
    answer = {
        "status": got.status_code,
        "length": length,
        "sha256": digest.hexdigest(),
        "http_version": got.http_version,
        "headers": dict(got.headers),
    }
    return {"answer": answer, "sample": sample.decode("utf-8", "replace")}


def _kept(answer: dict[str, Any], port: int, path: str, timeout: float, request: dict[str, Any]) -> bool:
    """Whether a connection that was to be closed stays open after this answer.

    Most servers announce that they will close it. Of one that does not it has to be seen, so that is asked once more.
    """
    if answer["http_version"] != "HTTP/1.1" or "close" in answer["headers"].get("connection", "").lower():
        return False
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    with contextlib.closing(client), _within(timeout):
        client.request(request["method"], path, request.get("body"), request["headers"])
        client.getresponse().read()
        if client.sock is None:  # this time it was announced
            return False
        client.sock.settimeout(CLOSING)
        try:
            return client.sock.recv(1) != b""
        except TimeoutError:
            return True
        except OSError:  # reset: closed, if not nicely
            return False


def _plain(client: httpx.Client) -> httpx.Client:
    client.headers.pop("accept-encoding", None)
    return client


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in the block after that time; a client's own timeout starts anew with every byte."""

    def expire(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"no whole answer within {seconds:.3g} s")

    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _ended(pid: int, deadline: float) -> bool:
    """Wait for a process without using the processor; False when the deadline came first."""
    handle = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        return bool(poller.poll(int(deadline * 1000)))
    finally:
        os.close(handle)


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1).strip() if found else ""


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _siblings() -> list[list[int]]:
    """Which logical processors share a core, from sysfs; every one alone where that can't be read."""
    cores: dict[str, list[int]] = {}
    for folder in sorted(Path("/sys/devices/system/cpu").glob("cpu[0-9]*")):
        number = int(folder.name[3:])
        core = _text(f"{folder}/topology/core_id").strip()
        package = _text(f"{folder}/topology/physical_package_id").strip()
        cores.setdefault(f"{package}/{core}" if core else f"alone/{number}", []).append(number)
    return sorted(cores.values())


def _version(argv: list[str], pattern: str) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
    except OSError:
        return ""
    return _first(pattern, done.stdout + done.stderr)


def probe() -> dict[str, Any]:
    """The facts of `windtunnel.model.Host` that can be read here."""
    cpuinfo = _text("/proc/cpuinfo")
    v2 = (CGROUP_ROOT / "cgroup.controllers").exists()
    v1 = (CGROUP_ROOT / "cpuacct").exists() or (CGROUP_ROOT / "cpu,cpuacct").exists()
    return {
        "cpu_model": _first(r"^model name\s*:\s*(.+)$", cpuinfo)
        or _first(r"^Model\s*:\s*(.+)$", cpuinfo)
        or "unknown",
        "online": sorted(os.sched_getaffinity(0)),
        "siblings": _siblings(),
        "memory": int(_first(r"^MemTotal:\s*(\d+)", _text("/proc/meminfo")) or 0) * 1024,
        "kernel": os.uname().release,
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or "unknown",
        "cgroup": "v2" if v2 else "v1" if v1 else "unreadable",
        "load": os.getloadavg()[0],
        "generators": {
            "h2load": _version(["h2load", "--version"], r"nghttp2/(\S+)"),
            "ab": _version(["ab", "-V"], r"Version ([\d.]+)"),
            "wrk": _version(["wrk", "-v"], r"wrk\s+(\S+)"),
        },
    }


def main() -> None:
    """Read requests until the end of standard input."""
    worker = Worker()
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            answer = worker.handle(json.loads(line))
        except Exception as error:  # noqa: BLE001 - whatever it is, the other side must hear of it
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
