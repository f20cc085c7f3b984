"""Is this the answer the workload expects? Pure."""

from __future__ import annotations

from windtunnel.model import Answer, Expect

__all__ = ["mismatch"]


def mismatch(answer: Answer, expect: Expect) -> str:
    """What is wrong with an answer, in words, or "" when it is as expected."""
    if answer.status != expect.status:
        return f"status {answer.status} instead of {expect.status}"
    if expect.length is not None and answer.length != expect.length:
        return f"a body of {answer.length:,} bytes instead of {expect.length:,}"
    if expect.sha256 is not None and answer.sha256 != expect.sha256.lower():
        return f"a body with SHA-256 {answer.sha256} instead of {expect.sha256}"
    got = {name.lower(): value for name, value in answer.headers.items()}
    for name, wanted in expect.headers.items():
        if (value := got.get(name.lower())) != wanted:
            return f"header {name}: {value!r} instead of {wanted!r}"
    return ""
