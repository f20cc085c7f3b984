"""No registry, or one that is not for us: told once, and built here."""

from __future__ import annotations

import pytest
from imagesuite import APP, load, prepare
from registering import OTHER, SMALL, both, kinds, pushed, said_once

from registries import HTPASSWD, PASSWORD, answering, configuration, free_address, login, mute, serving
from windtunnel.adapters.imagebuild import buildx_available
from windtunnel.errors import RegistryError

pytestmark = pytest.mark.engine


def test_nobody_answers(suite, fresh, seen, told):
    address = free_address()
    assert prepare(fresh(address), *both(suite))
    said_once(told, "connection refused", address, "`registry` in windtunnel.toml")
    assert kinds(seen).count("finished") == 2


def test_no_such_host(suite, fresh, seen, told):
    assert prepare(fresh("registry.invalid", patience=10), *both(suite))
    said_once(told, "registry.invalid")


def test_one_that_says_nothing_is_given_up(suite, fresh, seen, told):
    with mute() as address:
        assert prepare(fresh(address, patience=2, jobs=1), *both(suite))
    said_once(told, "nothing was heard for 2 s")


@pytest.mark.parametrize("status", [401, 403])
def test_one_that_does_not_let_us_in(suite, fresh, told, status):
    with answering(status) as address:
        assert prepare(fresh(address, jobs=1), *both(suite))
    said_once(told, f"`docker login {address}`")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_one_that_is_not_well(suite, fresh, told, status):
    with answering(status) as address:
        assert prepare(fresh(address, jobs=1, patience=5), *both(suite))
    said_once(told, address)


def test_something_that_is_no_registry(suite, fresh, told):
    with answering(404) as address:
        assert prepare(fresh(address, jobs=1, patience=5), *both(suite))
    assert len(told) <= 2


def test_credentials_come_from_dockers_own_configuration(  # noqa: PLR0917 - fixtures
    suite, fresh, registry_program, tmp_path, monkeypatch, seen, told
):
    suite.target("app", SMALL)
    with serving(registry_program, tmp_path / "closed", htpasswd=HTPASSWD) as closed:
        builder = fresh(closed.address)
        (launch,) = prepare(builder, (suite.arm(), APP))
        said_once(told, f"`docker login {closed.address}`")
        with pytest.raises(RegistryError, match="right to write"):
            builder.registry.push(launch.image, print)
        told.clear()

        monkeypatch.setenv("DOCKER_CONFIG", str(login(tmp_path / "wrong", closed.address, password="wrong")))
        prepare(fresh(closed.address), (suite.arm(), APP))
        said_once(told, "docker login")
        assert "wrong" not in told[0]
        told.clear()

        monkeypatch.setenv("DOCKER_CONFIG", str(login(tmp_path / "right", closed.address)))
        builder = fresh(closed.address)
        prepare(builder, (suite.arm(), APP))
        pushed(builder, launch)
        prepare(fresh(closed.address), (suite.arm(), APP))
        assert kinds(seen)[-1] == "pulled"
        assert told == []
        assert PASSWORD not in "\n".join(seen.lines)


@pytest.mark.filterwarnings("ignore:docker-credential-no-such-helper")
def test_a_credential_helper_that_is_not_there(suite, fresh, served, tmp_path, monkeypatch, told):
    """The classic builder wants to know all credentials too, so it builds nothing before that is put right."""
    config = configuration(tmp_path / "helped", credsStore="no-such-helper")
    monkeypatch.setenv("DOCKER_CONFIG", str(config))
    done = fresh(served.address, jobs=1).prepare(both(suite), load)
    if not buildx_available():
        assert all("credential helper does not work; look at credsStore" in str(one) for one in done.values())
    said_once(told, "credential helper", "docker login")


def test_one_that_may_only_be_read(suite, fresh, registry_program, tmp_path, seen):
    suite.target("app", SMALL)
    with serving(registry_program, tmp_path / "shared") as open_:
        builder = fresh(open_.address)
        (launch,) = prepare(builder, (suite.arm(), APP))
        pushed(builder, launch)
    suite.target("other", SMALL, two="2")
    with serving(registry_program, tmp_path / "shared", readonly=True) as closed:
        builder = fresh(closed.address)
        _, other = prepare(builder, (suite.arm(), APP), (suite.arm(), OTHER))
        assert seen.count("pulled") == 1
        with pytest.raises(RegistryError, match="cannot push"):
            builder.registry.push(other.image, print)


def test_pushing_where_nobody_answers(suite, fresh, engine):
    suite.target("app", SMALL)
    builder = fresh(free_address(), patience=3)
    (launch,) = prepare(builder, (suite.arm(), APP))
    with pytest.raises(RegistryError, match=r"cannot push .*network"):
        builder.registry.push(launch.image, print)
    assert engine.image(launch.image) is not None
