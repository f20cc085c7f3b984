"""Which containers were left behind: those of owners that have ended, and never those of one that may still run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windtunnel.launch.reap import OWNER_LABEL, stale
from windtunnel.ports import LABEL, ContainerInfo

NOW = 1_800_000_000.0
DAY = 24 * 3600.0


def _container(owner: str | None, age: float = 0.0, identifier: str = "1", *, running: bool = True) -> ContainerInfo:
    labels = {LABEL: "group"} if owner is None else {LABEL: "group", OWNER_LABEL: owner}
    return ContainerInfo(identifier, f"windtunnel-{identifier}", labels, running, NOW - age)


def _asked(owner: str) -> bool | None:
    """Owners say of themselves how it stands with them."""
    return {"runs": True, "ended": False}.get(owner)


def test_an_owner_that_has_ended_leaves_its_containers_behind() -> None:
    assert stale([_container("ended")], _asked, NOW)
    assert stale([_container("ended", running=False)], _asked, NOW)


def test_an_owner_that_runs_keeps_them_however_old() -> None:
    assert not stale([_container("runs", age=100 * DAY)], _asked, NOW)


def test_another_machines_are_given_a_day() -> None:
    assert not stale([_container("elsewhere", age=0.99 * DAY)], _asked, NOW)
    assert stale([_container("elsewhere", age=1.01 * DAY)], _asked, NOW)


def test_a_clock_that_is_ahead_makes_nothing_old() -> None:
    assert not stale([_container("elsewhere", age=-5 * DAY)], _asked, NOW)


def test_what_windtunnel_did_not_start_is_not_its_to_remove() -> None:
    """A container run by hand from an image of ours inherits the image's label."""
    assert not stale([_container(None, age=100 * DAY), _container("", age=100 * DAY)], _asked, NOW)


@given(
    st.lists(
        st.tuples(st.sampled_from(["runs", "ended", "elsewhere", "", None]), st.floats(0, 5 * DAY), st.booleans()),
        max_size=12,
    )
)
def test_each_is_judged_alone_and_the_order_is_kept(drawn: list[tuple[str | None, float, bool]]) -> None:
    containers = [
        _container(owner, age, str(number), running=running) for number, (owner, age, running) in enumerate(drawn)
    ]
    alone = [one for one in containers if stale([one], _asked, NOW)]
    assert list(stale(containers, _asked, NOW)) == alone
    for one in alone:
        assert one.labels.get(OWNER_LABEL) in {"ended", "elsewhere"}
