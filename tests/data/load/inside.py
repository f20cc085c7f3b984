"""Runs in a container: one of the servers, one generator against it, and what the generator left, as JSON.

    echo '{"server": "ok", "argv": [...], "log": "/tmp/log", "deadline": 5, "body": null}' | python3 inside.py

`server` is a mode of server.py or h2server.py, "nghttpd", or null for none. Both listen on 127.0.0.1:8080.
"""

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

PORT = "8080"
HERE = Path(__file__).parent


def start(mode):
    """The server's process, once it accepts connections; None for no server."""
    if mode is None:
        return None
    if mode == "nghttpd":
        Path("/tmp/htdocs").mkdir()
        Path("/tmp/htdocs/index.html").write_bytes(b"x" * 128)
        argv = ["nghttpd", "--no-tls", "-d", "/tmp/htdocs", PORT]
    else:
        program = "h2server.py" if mode.startswith("h2") else "server.py"
        argv = [sys.executable, "-B", str(HERE / program), PORT, mode]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", int(PORT)), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return process
    raise SystemExit(f"{argv} does not listen")


def run(argv, log, deadline):
    """What `windtunnel.load.output.Output` holds."""
    began = time.perf_counter()
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    timed_out = False
    try:
        stdout, stderr = process.communicate(timeout=deadline)
    except subprocess.TimeoutExpired:
        timed_out = True
        process.kill()
        stdout, stderr = process.communicate()
    wall = time.perf_counter() - began
    text = Path(log).read_text() if log and Path(log).exists() else None
    return {
        "stdout": stdout,
        "stderr": stderr,
        "exit_code": process.returncode,
        "log": text,
        "timed_out": timed_out,
        "wall": round(wall, 3),
    }


def main():
    """One request from standard input, one answer to standard output."""
    asked = json.load(sys.stdin)
    if asked["body"] is not None:
        Path("/tmp/body").write_text(asked["body"])
    server = start(asked["server"])
    try:
        print(json.dumps(run(asked["argv"], asked["log"], asked["deadline"])))
    finally:
        if server:
            server.kill()


if __name__ == "__main__":
    main()
