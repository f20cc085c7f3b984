"""The conversation with a target's own program, on a channel without a container: its order, and its every end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from windtunnel.errors import InvalidLoad, LaunchFailed, SidecarLost
from windtunnel.launch.program import Program
from windtunnel.model import Workload

GET = Workload(generator="program", op="get", payload="scalar")
HELLO = {"ops": ["get", "set"], "payloads": ["scalar"], "client": "A", "version": "1"}
Answers = Sequence[object]


def right(calls: int, **changes: object) -> dict[str, object]:
    return {"calls": calls, "seconds": 1e-9, "hits": calls, "errors": 0, **changes}


class Script:
    """A channel whose other end answers in turn: mappings as JSON, bytes as they are; an error is raised."""

    def __init__(self, answers: Answers, errors: str = "") -> None:
        self.asked: list[Mapping[str, Any]] = []
        self.patience: list[float] = []
        self.closed = False
        self._answers = list(answers)
        self._errors = errors

    def send(self, line: bytes) -> None:
        if self._answers and isinstance(self._answers[0], BrokenPipeError):
            raise SidecarLost("it no longer reads (Broken pipe)")
        self.asked.append(json.loads(line))

    def receive(self, timeout: float) -> bytes:
        self.patience.append(timeout)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    def errors(self) -> str:
        return self._errors

    def close(self) -> None:
        self.closed = True


def _prepared(*answers: object, errors: str = "") -> tuple[Program, Script]:
    script = Script(answers, errors)
    program = Program(script, "clients")
    program.prepare(GET, 7.0)
    return program, script


def test_hello_then_preload_then_one_call() -> None:
    program, script = _prepared(HELLO, {}, right(1))
    assert [next(iter(asked)) for asked in script.asked] == ["hello", "preload", "op"]
    assert script.asked[2] == {"op": "get", "payload": "scalar", "calls": 1}
    assert script.patience == [7.0, 7.0, 7.0]
    assert str(program.hello) == "A 1"
    program.close()
    assert script.closed


def test_calls_are_asked_for_in_the_number_and_with_the_patience_that_is_wanted() -> None:
    program, script = _prepared(HELLO, {}, right(1), right(500), right(40))
    called = program.call(GET, 500, 1, 30.0)
    program.call(GET, 40, 4, 2.0)
    assert [asked.get("calls") for asked in script.asked[3:]] == [500, 40]
    assert [asked.get("concurrency") for asked in script.asked[3:]] == [None, 4]
    assert script.patience[3:] == [30.0, 2.0]
    assert called.answered.hits == 500
    assert called.wall > 0


ENDED = SidecarLost("it ended")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([TimeoutError()], r"worker of clients does not answer hello: no answer after 7 s \(does it flush"),
        ([ENDED], r"does not answer hello: it ended: ImportError: no module named x"),
        ([BrokenPipeError()], r"does not answer hello: it no longer reads"),
        ([SidecarLost("it wrote 64 MiB without the end of a line")], r"hello: it wrote 64 MiB"),
        ([b"hello world"], r"hello: it wrote something else than JSON on its standard output: 'hello world'"),
        ([{"error": "no server"}], r"does not answer hello: no server$"),
        ([{"ops": "get"}], r"no list of names"),
        ([{"ops": ["set"], "payloads": ["scalar"]}], r"^clients: its worker has no op 'get'; it has set$"),
        ([HELLO, TimeoutError()], r"worker of clients can't preload get scalar: no answer after 7 s"),
        ([HELLO, ENDED], r"can't preload get scalar: it ended: ImportError"),
        ([HELLO, {"error": "not compressed"}], r"can't preload get scalar: not compressed"),
        ([HELLO, b"[]"], r"can't preload get scalar: it answered '\[\]', which is no JSON object"),
    ],
)
def test_what_does_not_get_as_far_as_a_call_has_failed(answers: Answers, said: str) -> None:
    with pytest.raises(LaunchFailed, match=said) as caught:
        _prepared(*answers, errors="Traceback\nImportError: no module named x\n")
    assert "Traceback" in caught.value.detail


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (right(1, hits=0), r"^the first get scalar of clients: 1 of 1 calls missed"),
        (right(1, hits=0, errors=1), r"the first get scalar of clients: failed: 1 error"),
        (right(2), r"the first get scalar of clients: 2 of 1 calls were made"),
        (right(1, seconds=3600), r"its calls took 3.6e\+03 s by its own clock"),
        ({"error": "refused"}, r"^1 x get scalar of clients: refused"),
        ({}, r"1 x get scalar of clients: \"calls\" is missing"),
        (b"nonsense", r"1 x get scalar of clients: it wrote something else than JSON"),
        (TimeoutError(), r"1 x get scalar of clients: no answer after 7 s"),
        (ENDED, r"1 x get scalar of clients: it ended$"),
    ],
)
def test_a_first_call_that_is_wrong_is_an_invalid_load(answer: object, said: str) -> None:
    with pytest.raises(InvalidLoad, match=said):
        _prepared(HELLO, {}, answer)


def test_nothing_more_is_asked_of_a_program_that_can_not_do_it() -> None:
    script = Script([HELLO, {}, right(1)])
    with pytest.raises(LaunchFailed, match="no payload 'large'; it has scalar"):
        Program(script, "clients").prepare(Workload(generator="program", op="get", payload="large"), 7.0)
    assert len(script.asked) == 1


def test_last_words_are_told_without_what_a_terminal_would_obey() -> None:
    with pytest.raises(LaunchFailed, match=r"it ended: \?\[31mred$"):
        _prepared(ENDED, errors="first\n\x1b[31mred\n")
