from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from windtunnel.declare.settings import Settings
from windtunnel.declare.suite import find_suite
from windtunnel.errors import ConfigError


def git(*arguments: str, cwd: Path) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = (tmp_path / "repo").resolve()
    top.mkdir()
    git("init", "-q", cwd=top)
    return top


def write(folder: Path, text: str = '{"version": 1, "repo": "."}', name: str = "asv.conf.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


def test_at_the_top_with_every_default(repository: Path) -> None:
    write(repository)
    suite = find_suite(repository)
    assert (suite.root, suite.repository, suite.prefix, suite.separate) == (repository, repository, "", False)
    assert (suite.project, suite.branches, suite.targets_folder) == ("project", (), "targets")
    assert suite.benchmark_dir == repository / "benchmarks"
    assert suite.results_dir == repository / "results"
    assert suite.env_dir == repository / "env"
    assert suite.html_dir == repository / "html"
    assert suite.settings == Settings()


def test_in_a_folder_of_the_project_with_every_key(repository: Path) -> None:
    text = """{
        // comments, single quotes and trailing commas are fine
        version: 1, 'project': "thing", "repo": "..", "branches": ["main", "next"],
        "benchmark_dir": "bench", "results_dir": ".asv/results", "env_dir": ".asv/env", "html_dir": "../html",
    }"""
    write(repository / "perf" / "http", text.replace('"..",', '"../..",'))
    (repository / "perf" / "http" / "windtunnel.toml").write_text('gate = "on"')
    suite = find_suite(repository / "perf" / "http")
    assert (suite.repository, suite.prefix, suite.targets_folder) == (repository, "perf/http", "perf/http/targets")
    assert (suite.project, suite.branches, suite.separate) == ("thing", ("main", "next"), False)
    assert suite.benchmark_dir == repository / "perf" / "http" / "bench"
    assert suite.env_dir == repository / "perf" / "http" / ".asv" / "env"
    assert suite.html_dir == repository / "perf" / "html"
    assert suite.settings.gate == "on"


def test_the_nearest_folder_upwards_counts(repository: Path) -> None:
    write(repository)
    write(repository / "perf", '{"repo": ".."}')
    inner = repository / "perf" / "benchmarks" / "deep"
    inner.mkdir(parents=True)
    (repository / "src").mkdir()
    assert find_suite(inner).root == repository / "perf"
    assert find_suite(repository / "src").root == repository


def test_the_jsonc_name_counts_and_both_are_refused(repository: Path) -> None:
    write(repository, name="asv.conf.jsonc")
    assert find_suite(repository).root == repository
    write(repository)
    with pytest.raises(ConfigError, match="both there"):
        find_suite(repository)


def test_none_is_said_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="windtunnel init"):
        find_suite(tmp_path)


def test_a_suite_beside_the_project_is_separate(repository: Path, tmp_path: Path) -> None:
    bench = (tmp_path / "bench").resolve()
    write(bench, '{"repo": "../repo"}')
    git("init", "-q", cwd=bench)
    suite = find_suite(bench)
    assert (suite.repository, suite.separate, suite.targets_folder) == (repository, True, "targets")


def test_a_suite_with_its_own_repository_inside_the_project_is_separate(repository: Path) -> None:
    bench = repository / "ignored" / "bench"
    write(bench, '{"repo": "../.."}')
    git("init", "-q", cwd=bench)
    suite = find_suite(bench)
    assert (suite.repository, suite.separate, suite.prefix, suite.targets_folder) == (repository, True, "", "targets")


@pytest.mark.parametrize(
    "url", ["https://example.org/x/y.git", "git@example.org:x/y.git", "ssh://git@h/x", "file:///x"]
)
def test_a_url_means_a_separate_suite_and_asvs_own_clone(repository: Path, url: str) -> None:
    write(repository, f'{{"repo": "{url}", "project": "thing"}}')
    suite = find_suite(repository)
    assert (suite.separate, suite.repository, suite.targets_folder) == (True, repository / "thing", "targets")


def test_a_worktree_is_a_repository_of_its_own_place(repository: Path, tmp_path: Path) -> None:
    write(repository / "perf", '{"repo": ".."}')
    git("add", ".", cwd=repository)
    git("commit", "-qm", "x", cwd=repository)
    git("worktree", "add", "-q", str(tmp_path / "tree"), cwd=repository)
    suite = find_suite(tmp_path / "tree" / "perf")
    assert (suite.repository, suite.separate) == ((tmp_path / "tree").resolve(), False)


def test_a_bare_repository_is_separate(repository: Path, tmp_path: Path) -> None:
    git("init", "-q", "--bare", str(tmp_path / "bare.git"), cwd=repository)
    write(repository, '{"repo": "../bare.git"}')
    suite = find_suite(repository)
    assert (suite.repository, suite.separate) == ((tmp_path / "bare.git").resolve(), True)


@pytest.mark.parametrize("repo", [".", ".git"])
def test_symbolic_links_do_not_make_it_separate(repository: Path, tmp_path: Path, repo: str) -> None:
    write(repository, f'{{"repo": "{repo}"}}')
    (tmp_path / "link").symlink_to(repository)
    assert not find_suite(tmp_path / "link").separate


WRONG = [
    ('{"version": 1}', 1, "repo", "missing; expected the project's repository"),
    ('{\n"repo": 1}', 2, "repo", "found 1 (an integer), expected a string"),
    ('{\n"repo": null}', 2, "repo", "found nothing"),
    ('{\n"repo": "nowhere"}', 2, "repo", "does not exist"),
    ('{\n/* "repo": 1,\n */ "repo": "..",}', 3, "repo", "is not inside a git repository"),
    ('{"repo": ".",\n\n// "project": 0\nproject: ""}', 4, "project", 'found "" (a string)'),
    ('{"repo": ".",\n"x": {"env_dir": "a"},\n"env_dir": []}', 3, "env_dir", "found an empty array"),
    ('{"repo": ".",\n"benchmark_dir": {}}', 2, "benchmark_dir", "found an empty table"),
    ('{"repo": ".",\n"branches": []}', 2, "branches", "an array of branches"),
    ('{"repo": ".",\n"branches": "main"}', 2, "branches", "an array of branches"),
    ('{"repo": ".",\n"branches": ["main", 1]}', 2, "branches", "an array of branches"),
    ('{"repo": "."\n"project": "x"}', 2, None, "not valid JSON"),
    ('{"repo": ".",\n', 2, None, "not valid JSON"),
    ("", 1, None, "not valid JSON"),
    ("[]", 1, None, "expected an object"),
    ("[" * 5000, None, None, "nested too deeply"),
]


@pytest.mark.parametrize(("text", "line", "key", "words"), WRONG, ids=[repr(case[0])[:60] for case in WRONG])
def test_an_error_names_file_line_and_key(
    repository: Path, text: str, line: int | None, key: str | None, words: str
) -> None:
    path = write(repository, text)
    with pytest.raises(ConfigError) as caught:
        find_suite(repository)
    error = caught.value
    assert (error.file, error.line, error.key) == (str(path), line, key)
    assert words in str(error)


def test_wrong_settings_are_found_with_the_suite(repository: Path) -> None:
    write(repository)
    (repository / "windtunnel.toml").write_text("gate = 1")
    with pytest.raises(ConfigError, match=r"windtunnel\.toml:1: gate: "):
        find_suite(repository)


PIECES = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"repo"',
    "repo",
    '"."',
    "'..'",
    "null",
    "1",
    "//x\n",
    "/*",
    "*/",
    '"',
    "\\",
    "\n",
]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=20))
def test_no_text_raises_anything_but_a_config_error(repository: Path, text: str) -> None:
    (repository / "asv.conf.json").write_text(text, encoding="utf-8", errors="surrogateescape")
    try:
        find_suite(repository)
    except ConfigError as error:
        assert error.file == str(repository / "asv.conf.json")
