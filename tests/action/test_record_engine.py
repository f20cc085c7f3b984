"""A push to main, measured by real containers, recorded, and published by asv."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from projects import SETTINGS, SLOW
from recordings import BRANCH, main_of

from windtunnel.sample.runfile import read_run

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_a_push_that_is_slower(tmp_path: Path) -> None:
    main = main_of(tmp_path)
    main.origin.commit("slow", {SETTINGS: SLOW})
    site = tmp_path / "site"
    told = main.job(engine=True).record("--suite", "small", "--budget", "120s", "--site", site).expect(0)
    assert told.outputs["outcome"] == "regression"
    assert told.outputs["recorded"] == main.remote.tip()
    assert "got slower" in main.remote.log()[0]
    run = read_run(Path(told.outputs["run"]))
    assert [arm.commit for arm in run.header.arms] == [main.origin.hash("main~1"), main.origin.hash("main")]
    (packed,) = (name for name in main.remote.files() if name.startswith("runs/"))
    assert packed.endswith("-small.jsonl.xz")

    # The next push changes nothing that is served: no launch, and its base is what was recorded.
    main.origin.commit("a word", {"README": "Another word.\n"})
    told = main.job(engine=True).record("--suite", "small", "--site", site).expect(0)
    assert "recorded last" in told.log
    assert told.outputs["outcome"] == "ok"
    assert read_run(Path(told.outputs["run"])).launches == ()
    assert len(main.remote.log()) == 2

    index = json.loads((site / "asv" / "index.json").read_text())
    assert main.origin.hash("main~1") in index["revision_to_hash"].values()
    graphs = [json.loads(path.read_text()) for path in (site / "asv" / "graphs").rglob("tiny.Page.time_request.json")]
    assert any(graph for graph in graphs)


@pytest.mark.nightly
def test_a_calibration_is_kept_on_the_branch(tmp_path: Path) -> None:
    main = main_of(tmp_path)
    told = main.job(event="workflow_dispatch", engine=True).record("--calibrate").expect(0)
    assert told.outputs["recorded"] == main.remote.tip()
    document = json.loads(main.remote.files()["calibration/calibration.json"])
    (machine,) = document["machines"]
    assert set(machine["cases"]) == {"tiny.Page(2)"}
    assert main.remote.git("log", "-1", "--format=%s", BRANCH) == "Record a calibration"
