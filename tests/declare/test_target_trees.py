from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from windtunnel.declare.targets import TargetLoader, can_change, load_target, target_names
from windtunnel.errors import ConfigError, VariantMissing
from windtunnel.model import Target
from windtunnel.ports import SourceFile, SourceTree


class Tree:
    """A source tree in memory. Every target folder gets a Dockerfile."""

    def __init__(self, revision: str, targets: Mapping[str, str | bytes], folder: str = "targets") -> None:
        self.revision = revision
        self.files: dict[str, bytes] = {"README.md": b"hello"}
        self.reads: list[str] = []
        for name, text in targets.items():
            self.files[f"{folder}/{name}/target.toml"] = text if isinstance(text, bytes) else text.encode()
            self.files[f"{folder}/{name}/Dockerfile"] = b"FROM scratch\n"

    def paths(self, under: str = "") -> tuple[str, ...]:
        return tuple(sorted(path for path in self.files if not under or path.startswith(f"{under}/")))

    def read(self, paths: Iterable[str]) -> tuple[SourceFile, ...]:
        wanted = list(paths)
        self.reads += wanted
        return tuple(SourceFile(path, 0o644, self.files[path]) for path in wanted)


NEW, OLD = "a" * 40, "b" * 40


def load(name: str, *, project: SourceTree, harness: SourceTree, folder: str = "targets") -> Target:
    return load_target(name, folder=folder, project=project, harness=harness)


def alone(targets: Mapping[str, str | bytes], name: str = "web") -> Target:
    tree = Tree("worktree", targets)
    return load(name, project=tree, harness=tree)


def refused(targets: Mapping[str, str | bytes], name: str = "web") -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        alone(targets, name)
    return caught.value


# ---------------- whose folder


def test_a_commit_harness_is_read_from_the_arms_own_commit() -> None:
    target = load("web", project=Tree(OLD, {"web": "port = 1"}), harness=Tree(NEW, {"web": "port = 2"}))
    assert target.port == 1


def test_a_head_harness_is_read_from_the_newest_side() -> None:
    harness = Tree(NEW, {"web": 'port = 2\nharness = "head"'})
    assert load("web", project=Tree(OLD, {"web": "port = 1"}), harness=harness).port == 2
    assert load("web", project=Tree(OLD, {}), harness=harness).port == 2


def test_the_newest_side_alone_says_whose_folder_counts() -> None:
    old = Tree(OLD, {"web": 'port = 1\nharness = "head"'})
    target = load("web", project=old, harness=Tree(NEW, {"web": "port = 2"}))
    assert (target.port, target.harness) == (1, "commit")


@pytest.mark.parametrize("folder", ["targets", "perf/targets"])
def test_the_folder_may_lie_deeper(folder: str) -> None:
    tree = Tree("worktree", {"web": ""}, folder)
    assert load("web", project=tree, harness=tree, folder=folder).folder == f"{folder}/web"


def test_a_commit_without_the_target_lacks_the_variant() -> None:
    with pytest.raises(VariantMissing, match=f"{OLD[:10]} has no targets/web/target.toml"):
        load("web", project=Tree(OLD, {}), harness=Tree(NEW, {"web": ""}))


def test_an_old_file_that_cannot_be_read_does_not_stop_the_run() -> None:
    with pytest.raises(VariantMissing, match=f"{OLD[:10]}:targets/web/target.toml:1: prot: unknown key"):
        load("web", project=Tree(OLD, {"web": "prot = 1"}), harness=Tree(NEW, {"web": ""}))


def test_two_working_trees_may_be_of_two_repositories() -> None:
    project = Tree("worktree", {"web": "port = 1"})
    assert load("web", project=project, harness=Tree("worktree", {"web": "port = 2"})).port == 1


def test_a_missing_target_lists_those_that_exist() -> None:
    error = refused({"starlet": "", "twiggy": "", "memcached": ""}, "starlt")
    assert 'did you mean "starlet"?' in str(error)
    assert "memcached, starlet, twiggy" in str(error)
    assert error.file == "targets/starlt/target.toml"


def test_no_target_at_all_is_said() -> None:
    assert "targets/ holds no target" in str(refused({}))


def test_target_names_are_folders_right_below() -> None:
    tree = Tree("worktree", {"b": "", "a": "", "a/inner": ""})
    assert target_names("targets", tree) == ("a", "b")


def test_a_file_that_is_not_utf_8_names_the_line() -> None:
    error = refused({"web": b'port = 1\ndescription = "caf\xe9"\n'})
    assert (error.file, error.line) == ("targets/web/target.toml", 2)


def test_the_newest_sides_errors_name_the_commit() -> None:
    tree = Tree(NEW, {"web": "port = 0"})
    with pytest.raises(ConfigError) as caught:
        load("web", project=tree, harness=tree)
    assert str(caught.value).startswith(f"{NEW[:10]}:targets/web/target.toml:1: port: ")


def test_a_dockerfile_of_another_tree_does_not_count() -> None:
    old = Tree(OLD, {"web": ""})
    del old.files["targets/web/Dockerfile"]
    with pytest.raises(VariantMissing, match="Dockerfile does not exist"):
        load("web", project=old, harness=Tree(NEW, {"web": ""}))


def test_a_loader_reads_each_file_once() -> None:
    tree = Tree("worktree", {"web": service("a"), "api": service("a"), "a": "port = 1"})
    loader = TargetLoader("targets", tree, tree)
    assert [loader.load(name).name for name in ("web", "api", "a", "web")] == ["web", "api", "a", "web"]
    assert len(tree.reads) == len(set(tree.reads)) == 3


# ---------------- services


def service(target: str, *lines: str, name: str = "s") -> str:
    return "\n".join(["[[services]]", f'name = "{name}"', f'target = "{target}"', *lines, ""])


def test_services_of_services_are_followed() -> None:
    tree = {"web": service("a"), "a": "port = 1\n" + service("b"), "b": 'port = 2\naxes.v."1.6" = {}'}
    assert alone(tree).services[0].target == "a"


SERVICES = [
    ({"web": "\n" + service("web")}, "web", 4, "target", "in a circle: web -> web"),
    ({"web": service("a"), "a": "port = 1\n" + service("b"), "b": "port = 2\n" + service("web")}, "b", 4, "target",
     "in a circle: web -> a -> b -> web"),
    ({"web": service("a"), "a": "port = 1\n" + service("b"), "b": "port = 2\n" + service("a")}, "b", 4, "target",
     "in a circle: a -> b -> a"),
    ({"web": service("memcachd"), "memcached": ""}, "web", 3, "target", 'did you mean "memcached"?'),
    ({"web": service("c"), "c": 'kind = "client"\nworker = ["x"]'}, "web", 3, "target", "c is a client"),
    ({"web": service("a"), "a": ""}, "web", 1, "port", "port 8080 is taken by the target web"),
    ({"web": service("a", "port = 9") + service("a", "port = 9", name="t"), "a": ""}, "web", 8, "port",
     "port 9 is taken by the service s of web"),
    ({"web": "port = 1\n" + service("a", 'axes = { w = "1" }'), "a": "axes.v.x = {}"}, "web", 5, "axes",
     "has no axis w"),
    ({"web": "port = 1\n" + service("a", 'axes = { v = "1" }'), "a": "axes.v.x = {}"}, "web", 5, "axes",
     'has no value "1"; it has x'),
    ({"web": "port = 1\n" + service("a"), "a": "[axes.v]\nx = {}\ny = {}"}, "web", 2, "axes",
     'choose one: axes = { v = "x" }'),
]  # fmt: skip


@pytest.mark.parametrize(("targets", "at", "line", "key", "words"), SERVICES, ids=[case[4] for case in SERVICES])
def test_a_wrong_service_is_named_with_its_line(
    targets: Mapping[str, str], at: str, line: int, key: str, words: str
) -> None:
    error = refused(targets)
    assert words in str(error)
    assert error.file == f"targets/{at}/target.toml"
    assert error.line == line
    assert error.key is not None
    assert error.key.startswith("services[") and error.key.endswith(key)


def test_a_service_that_is_wrong_in_itself_shows_its_own_lines() -> None:
    error = refused({"web": service("a"), "a": "\nprot = 1"})
    assert (error.file, error.line, error.key) == ("targets/a/target.toml", 2, "prot")


def test_a_client_takes_no_port() -> None:
    client = 'kind = "client"\nworker = ["x"]\n'
    assert alone({"web": client + service("a"), "a": ""}).kind == "client"


def test_an_images_port_is_taken_too() -> None:
    image = '[[services]]\nname = "s"\nimage = "memcached"\nport = 8080\n'
    assert "port 8080 is taken" in str(refused({"web": image}))


def test_a_service_the_commit_lacks_makes_the_variant_missing() -> None:
    web = 'harness = "head"\nport = 1\n' + service("a")
    with pytest.raises(VariantMissing):
        load("web", project=Tree(OLD, {}), harness=Tree(NEW, {"web": web, "a": ""}))


# ---------------- what can change

HEAD = 'harness = "head"\n'


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        ({"web": ""}, True),
        ({"web": HEAD}, False),
        ({"web": 'context = "/"\nsources = ["src/**"]'}, True),
        ({"web": HEAD + "port = 1\n" + service("a"), "a": HEAD}, False),
        ({"web": HEAD + "port = 1\n" + service("a"), "a": ""}, True),
        ({"web": HEAD + '[[services]]\nname = "s"\nimage = "x"'}, False),
    ],
)
def test_what_never_changes_with_the_project_is_known(targets: Mapping[str, str], expected: bool) -> None:
    tree = Tree("worktree", targets)
    loader = TargetLoader("targets", tree, tree)
    assert can_change(loader.load("web"), loader.load) is expected
