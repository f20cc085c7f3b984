"""The first moments of the command."""

from __future__ import annotations

import subprocess
import sys

INTERRUPTED_WHILE_LOADING = """
import os, signal, sys
class Now:
    def find_spec(self, name, path=None, target=None):
        if name == "windtunnel.cli.main":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Now())
from windtunnel.__main__ import main
main()
"""


def test_ctrl_c_while_python_still_imports_is_quiet() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_LOADING], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_the_package_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "windtunnel", "--help"], capture_output=True, text=True, check=True)
    assert "windtunnel doctor" in done.stdout
