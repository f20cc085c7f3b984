"""The first moments of the command."""

from __future__ import annotations

import subprocess
import sys

import pytest

INTERRUPTED_WHILE_LOADING = """
import os, signal, sys
class Now:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[-1]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Now())
sys.argv[1:] = ["show", "--help", sys.argv[-1]]
from windtunnel.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("module", "said"), [("windtunnel.cli.main", ""), ("windtunnel.cli.show", "windtunnel: interrupted\n")]
)
def test_ctrl_c_while_python_still_imports_is_quiet(module: str, said: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED_WHILE_LOADING, module]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)


def test_a_command_loads_what_it_needs_and_not_the_engine_s_client() -> None:
    code = "import sys; from windtunnel.cli.main import cli; cli.main(['show', '--help'], standalone_mode=False)"
    told = f"{code}; print('LOADED', *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    loaded = done.stdout.partition("LOADED ")[2].split()
    assert "windtunnel.cli.show" in loaded
    assert not {"docker", "windtunnel.cli.compare", "windtunnel.cli.site"} & set(loaded)


def test_the_package_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "windtunnel", "--help"], capture_output=True, text=True, check=True)
    assert "windtunnel doctor" in done.stdout
