"""What is planted in a commit: rounds of an empty loop for every request, and a wait for one of a hundred."""

import time

ROUNDS = 0
WAIT = 0.0

_asked = 0


def grow():
    global _asked  # noqa: PLW0603
    for _ in range(ROUNDS):
        pass
    _asked += 1
    if WAIT and _asked % 100 == 0:
        time.sleep(WAIT)
