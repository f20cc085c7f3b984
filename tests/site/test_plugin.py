"""The plug-in in real builds of MkDocs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from example_history import BENCHMARKS, HOSTILE, ExampleHistory, example_history
from mkdocs.livereload import LiveReloadServer
from sites import Built, SiteRefused, build, elements, project

from windtunnel.site.mount import plain
from windtunnel.site.plugin import WindtunnelPlugin
from windtunnel.site.source import Source


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(project(tmp_path_factory.mktemp("project")))


def test_pages_are_there_beside_the_project_s_own(site: Built) -> None:
    assert "Our project" in site.text("index.html")
    assert "% slower" in site.text("performance/index.html")
    assert (site.folder / "performance/benchmarks/flask.Gunicorn.html").is_file()
    assert site.text("performance/changes.xml").startswith("<?xml")


def test_no_warning(site: Built) -> None:
    assert site.warnings == []


def test_strict_build_by_the_command_line(tmp_path: Path) -> None:
    path = project(tmp_path / "project", validation={"nav": {"omitted_files": "warn"}})
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "out")],
        cwd=path.parent,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "performance" / "index.html").is_file()


def test_every_link_leads_to_something(site: Built) -> None:
    assert site.broken_links() == []


def test_nothing_comes_from_another_host(site: Built) -> None:
    assert site.foreign_files() == []


def test_the_search_dialog_has_a_name_also_where_nothing_was_found(site: Built) -> None:
    for name in ("index.html", "404.html", "performance/index.html"):
        dialogs = re.findall(r'<[^>]*role="dialog"[^>]*>', site.text(name))
        assert dialogs, name
        assert all('aria-label="' in one for one in dialogs), name


def test_navigation_has_a_section_of_few_pages(site: Built) -> None:
    text = site.text("index.html")
    assert text.count('href="performance/') >= 4
    for name in ("Changes", "Machines", "Benchmarks"):
        assert name in text
    assert 'href="performance/benchmarks/flask' not in text


def test_a_page_is_not_read_as_markdown(site: Built) -> None:
    """What Markdown would have made of the hostile documentation string, and of the hostile subject."""
    for page in site.pages():
        text = page.read_text(encoding="utf-8")
        assert '<a href="javascript' not in text, page
        assert "<h1>Not a heading</h1>" not in text, page


def test_hostile_strings_are_text_on_every_page(site: Built) -> None:
    for page in site.pages():
        text = page.read_text(encoding="utf-8")
        assert HOSTILE not in text, page
        tags = elements(text)
        assert not [a for _, a in tags if any(name.startswith("on") for name in a)], page
        assert not [a for tag, a in tags if tag == "img" and a.get("src") == "x"], page


def test_titles_can_t_leave_their_element() -> None:
    title = plain('</title><script>alert("1")</script>&lt;')
    assert not set(title) & set("<>&\"'`")


def test_search_finds_classes_and_not_figures(site: Built) -> None:
    docs = json.loads(site.text("search/search_index.json"))["docs"]
    ours = [doc for doc in docs if doc["location"].startswith("performance/benchmarks/psgi.Starlet")]
    assert len(ours) == 1
    assert "does a newer perl serve it faster" in ours[0]["text"]
    assert "time_request" in ours[0]["text"]
    assert not re.search(r"\d ms", json.dumps([doc for doc in docs if doc["location"].startswith("performance/")]))
    assert HOSTILE not in json.dumps(docs, ensure_ascii=False)


def test_building_again_reads_nothing_again(tmp_path: Path) -> None:
    path = project(tmp_path / "project")
    first, second = build(path), build(path)
    assert any("new" in text and "files of results" in text for _, text in first.said)
    assert not any("files of results" in text for _, text in second.said)
    index = tmp_path / "project" / ".windtunnel" / "history.sqlite"
    assert index.is_file()


def test_the_same_site_again(tmp_path: Path) -> None:
    path = project(tmp_path / "project")
    first = build(path).text("performance/index.html")
    assert build(path).text("performance/index.html") == first


@pytest.mark.parametrize("directories", [True, False])
def test_links_hold_with_either_kind_of_addresses(tmp_path: Path, directories: bool) -> None:
    built = build(project(tmp_path / "project", use_directory_urls=directories))
    assert built.broken_links() == []
    assert (built.folder / "performance" / "changes.html").is_file()


def test_without_a_navigation_in_mkdocs_yml(tmp_path: Path) -> None:
    built = build(project(tmp_path / "project", nav=None))
    assert built.warnings == []
    assert 'href="performance/' in built.text("index.html")
    assert "more" in built.text("index.html")


def _plugin(**options: Any) -> dict[str, Any]:
    return {"plugins": ["search", {"windtunnel": {"results": "results", **options}}]}


def test_another_folder(tmp_path: Path) -> None:
    built = build(project(tmp_path / "project", **_plugin(folder="speed/pages/")))
    assert (built.folder / "speed" / "pages" / "changes.html").is_file()
    assert built.broken_links() == []


def test_a_page_that_is_there_already_is_not_lost(tmp_path: Path) -> None:
    path = project(tmp_path / "project", **_plugin(folder=""))
    with pytest.raises(SiteRefused, match=r"index\.md.*folder: performance"):
        build(path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"results": "nowhere"}, "nowhere is not there"),
        ({"folder": "../up"}, "no folder of a site"),
        ({"commit_url": "javascript:alert(1)"}, "no address of http"),
        ({"asv": "docs"}, "not what asv publish writes"),
        ({"results": [1]}, "a folder, or a list"),
    ],
)
def test_wrong_options_are_told_with_a_remedy(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    path = project(tmp_path / "project", **_plugin(**options))
    with pytest.raises(SiteRefused, match=re.escape(words)):
        build(path)


def test_no_results_yet(tmp_path: Path) -> None:
    path = project(tmp_path / "project", ExampleHistory(), plugins=["search", "windtunnel"])
    (tmp_path / "project" / "results" / "benchmarks.json").unlink()
    built = build(path)
    assert built.warnings == []
    assert "There are no results yet" in built.text("performance/index.html")
    assert built.broken_links() == []


def test_broken_result_files_are_named_and_passed_over(tmp_path: Path) -> None:
    path = project(tmp_path / "project")
    machine = tmp_path / "project" / "results" / "runner-new"
    (machine / "cut.json").write_text('{"commit_hash": "12')
    (machine / "empty.json").write_text("")
    (machine / "newer.json").write_text('{"version": 99}')
    built = build(path)
    assert "% slower" in built.text("performance/index.html")
    machines = built.text("performance/machines.html")
    for name in ("cut.json", "empty.json", "newer.json"):
        assert name in machines
        assert any(name in text for _, text in built.said), name


def test_several_folders_of_results(tmp_path: Path) -> None:
    path = project(tmp_path / "project", **_plugin(results=["results", "results/runner-new"]))
    assert build(path).broken_links() == []


def test_serving_watches_the_results(tmp_path: Path) -> None:
    """The plug-in alone, with MkDocs' real server: a build is needed for nothing but to find the results."""
    plugin = WindtunnelPlugin()
    plugin._source = Source(results=(tmp_path, tmp_path / "not-there"), index=tmp_path / "index")
    server = LiveReloadServer(lambda: None, host="127.0.0.1", port=0, root=str(tmp_path))
    try:
        plugin.on_serve(server)
        assert list(server._watched_paths) == [str(tmp_path)]
    finally:
        server.server_close()


def test_asv_pages_are_put_beside(tmp_path: Path) -> None:
    path = project(tmp_path / "project", **_plugin(asv="html"))
    graphs = tmp_path / "project" / "html" / "graphs"
    graphs.mkdir(parents=True)
    (graphs / "summary.json").write_text("{}")
    (graphs.parent / "index.json").write_text("{}")
    assert build(path).text("asv/graphs/summary.json") == "{}"


def test_every_benchmark_has_a_page(site: Built) -> None:
    listing = site.text("performance/benchmarks/index.html")
    links = {a.get("href") for tag, a in elements(listing) if tag == "a"}
    titles = {page.name for page in site.folder.glob("performance/benchmarks/*.html")} - {"index.html"}
    assert titles <= links
    assert len(titles) == len({one.group for one in example_history().benchmarks()})
    assert len(BENCHMARKS) == len(example_history().benchmarks())
