"""A container's streams by lines, over a real socket: however frames are cut, what was written is what is read."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from windtunnel.adapters.channel import AttachedChannel
from windtunnel.errors import SidecarLost

OUT, ERR = 1, 2
Frames = list[tuple[int, bytes]]


def _framed(frames: Frames) -> bytes:
    return b"".join(struct.pack(">BxxxL", stream, len(payload)) + payload for stream, payload in frames)


class _Pair:
    """A channel, and the engine's end of its connection."""

    def __init__(self) -> None:
        ours, self.engine = socket.socketpair()
        self.channel = AttachedChannel(ours)

    def close(self) -> None:
        self.channel.close()
        self.engine.close()


@pytest.fixture
def pair() -> Iterator[_Pair]:
    made = _Pair()
    yield made
    made.close()


def _read_all(frames: Frames, cuts: list[int]) -> tuple[list[bytes], str]:
    """The lines and the errors of a container that writes these frames in these pieces and ends."""
    made = _Pair()
    content = _framed(frames)
    edges = [0, *sorted(cut for cut in cuts if cut < len(content)), len(content)]
    lines: list[bytes] = []
    try:
        for start, end in pairwise(edges):
            made.engine.sendall(content[start:end])
            try:
                while True:
                    lines.append(made.channel.receive(0.0005))
            except TimeoutError:
                pass
        made.engine.close()
        try:
            while True:
                lines.append(made.channel.receive(5))
        except SidecarLost:
            return lines, made.channel.errors()
    finally:
        made.close()


def _wanted(frames: Frames) -> tuple[list[bytes], bytes]:
    out = b"".join(payload for stream, payload in frames if stream == OUT)
    err = b"".join(payload for stream, payload in frames if stream == ERR)
    return out.split(b"\n")[:-1], err


MIXED: Frames = [
    (OUT, b'{"ok":'),
    (ERR, b"warning: \xc3"),
    (OUT, b" true}\n{"),
    (ERR, b"\xbc\n"),
    (OUT, b""),
    (OUT, b"}\n\n"),
    (ERR, b"end"),
]


@pytest.mark.parametrize("cut", range(1, len(_framed(MIXED))))
def test_frames_cut_at_every_byte(cut: int) -> None:
    assert _read_all(MIXED, [cut]) == ([b'{"ok": true}', b"{}", b""], "warning: ü\nend")


def test_frames_that_come_byte_by_byte() -> None:
    assert _read_all(MIXED, list(range(len(_framed(MIXED)))))[0] == _wanted(MIXED)[0]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from([OUT, ERR]), st.binary(max_size=30) | st.just(b"a\nb\n")), max_size=8),
    st.lists(st.integers(1, 200), max_size=4, unique=True),
)
def test_any_frames_in_any_pieces(frames: Frames, cuts: list[int]) -> None:
    lines, errors = _read_all(frames, cuts)
    wanted, err = _wanted(frames)
    assert lines == wanted
    assert errors == err.decode("utf-8", "replace")


def test_a_long_line_over_many_frames_is_one_line(pair: _Pair) -> None:
    line = b"x" * 3_000_000
    frames = [(OUT, line[start : start + 16_384]) for start in range(0, len(line), 16_384)]
    writer = threading.Thread(target=pair.engine.sendall, args=(_framed([*frames, (OUT, b"\nnext\n")]),))
    writer.start()
    assert pair.channel.receive(30) == line
    assert pair.channel.receive(30) == b"next"
    writer.join(10)


def test_errors_are_never_taken_for_an_answer(pair: _Pair) -> None:
    pair.engine.sendall(_framed([(ERR, b'{"ok": false}\n')]))
    with pytest.raises(TimeoutError):
        pair.channel.receive(0.05)
    assert pair.channel.errors() == '{"ok": false}\n'


def test_of_endless_errors_the_end_is_kept(pair: _Pair) -> None:
    for number in range(200):
        pair.engine.sendall(_framed([(ERR, b"%05d" % number + b"." * 995), (OUT, b"line\n")]))
        pair.channel.receive(5)
    assert len(pair.channel.errors()) <= 16_384
    assert "00199" in pair.channel.errors()
    assert "00000" not in pair.channel.errors()


def test_the_end_of_the_container_is_a_lost_side_car_with_its_last_words(pair: _Pair) -> None:
    pair.engine.sendall(_framed([(OUT, b"last\nhalf a li"), (ERR, b"Traceback: no")]))
    pair.engine.close()
    assert pair.channel.receive(5) == b"last"
    for _ in range(2):
        with pytest.raises(SidecarLost, match="ended") as caught:
            pair.channel.receive(5)
        assert caught.value.detail == "Traceback: no"


def test_an_end_within_a_frame_is_an_end(pair: _Pair) -> None:
    pair.engine.sendall(_framed([(OUT, b"whole\n"), (OUT, b"cut short\n")])[:-3])
    pair.engine.close()
    assert pair.channel.receive(5) == b"whole"
    with pytest.raises(SidecarLost):
        pair.channel.receive(5)


def test_a_connection_that_breaks_is_a_lost_side_car(pair: _Pair) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    ours = socket.create_connection(listener.getsockname())
    theirs, _ = listener.accept()
    listener.close()
    channel = AttachedChannel(ours)
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    theirs.close()  # with a reset, as when the engine is killed
    with pytest.raises(SidecarLost):
        channel.receive(5)
    channel.close()


def test_silence_is_a_timeout_and_nothing_is_lost_by_it(pair: _Pair) -> None:
    half, rest = _framed([(OUT, b"answer\n")])[:10], _framed([(OUT, b"answer\n")])[10:]
    pair.engine.sendall(half)
    before = time.monotonic()
    with pytest.raises(TimeoutError):
        pair.channel.receive(0.1)
    assert time.monotonic() - before >= 0.1
    pair.engine.sendall(rest)
    assert pair.channel.receive(5) == b"answer"


def test_drops_of_a_line_do_not_prolong_the_wait(pair: _Pair) -> None:
    """The time is for the whole line, not for each of its pieces."""
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.02):
            pair.engine.sendall(_framed([(OUT, b".")]))

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        with pytest.raises(TimeoutError):
            pair.channel.receive(0.3)
    finally:
        stop.set()
        thread.join(5)


def test_what_is_sent_is_one_line(pair: _Pair) -> None:
    pair.channel.send(b'{"op": "probe"}')
    pair.channel.send(b"")
    assert pair.engine.recv(100) == b'{"op": "probe"}\n\n'


def test_sending_to_nobody_is_a_lost_side_car(pair: _Pair) -> None:
    pair.engine.sendall(_framed([(ERR, b"out of memory")]))
    with pytest.raises(TimeoutError):
        pair.channel.receive(0.02)
    pair.engine.close()
    with pytest.raises(SidecarLost, match="no longer reads") as caught:
        for _ in range(3):  # the first may still fit a buffer
            pair.channel.send(b"hello")
    assert caught.value.detail == "out of memory"


def test_closing_tells_the_other_side_and_can_be_done_twice(pair: _Pair) -> None:
    pair.channel.close()
    pair.channel.close()
    assert pair.engine.recv(1) == b""


def test_a_line_without_an_end_is_not_read_on_for_ever() -> None:
    """More than any answer has; what it would take of our memory is not left to whoever writes it."""
    ours, engine = socket.socketpair()
    channel = AttachedChannel(ours, name="it")
    piece = _framed([(OUT, b"x" * (1 << 20))])

    def flood() -> None:
        try:
            while True:
                engine.sendall(piece)
        except OSError:
            pass  # nobody reads any more

    writer = threading.Thread(target=flood)
    writer.start()
    try:
        with pytest.raises(SidecarLost, match=r"^it wrote 64 MiB without the end of a line$"):
            channel.receive(120)
    finally:
        channel.close()
        engine.close()
        writer.join(10)


def test_errors_call_the_other_end_by_its_name() -> None:
    ours, engine = socket.socketpair()
    channel = AttachedChannel(ours, name="the worker")
    engine.close()
    with pytest.raises(SidecarLost, match=r"^the worker ended$"):
        channel.receive(5)
    channel.close()
