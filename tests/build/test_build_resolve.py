"""What is started: environment, command and services from target.toml, and the identity of all that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from windtunnel.build.resolve import Image, build_args, foreign_service, own_service, resolve
from windtunnel.model import AxisValue, Limits, Ready, Service, Target, Variant

IMAGE = Image("windtunnel/app:1", "d" * 64, 1000)
TARGET = Target(
    "app",
    "targets/app",
    port=5000,
    env={"A": "target", "B": "target", "C": "target"},
    build_args={"SUITE": "target", "X": "target"},
    command=("run",),
    workers=1,
    axes={
        "perl": {"5.36": AxisValue(build_args={"SUITE": "bookworm"}, env={"B": "perl", "C": "perl"})},
        "workers": {
            "4": AxisValue(env={"C": "workers"}, workers=4),
            "8": AxisValue(command=("run", "-8"), workers=8),
        },
    },
)


def at(workers: str) -> Variant:
    return Variant("app", (("workers", workers), ("perl", "5.36")))


def test_axis_values_go_over_the_target_in_the_order_of_the_axes():
    launch = resolve(TARGET, at("4"), IMAGE)
    assert launch.env == (("A", "target"), ("B", "perl"), ("C", "workers"))
    assert (launch.command, launch.workers, launch.port) == (("run",), 4, 5000)
    assert resolve(TARGET, at("8"), IMAGE).command == ("run", "-8")
    assert build_args(TARGET, at("4")) == {"SUITE": "bookworm", "X": "target"}
    assert (launch.image, launch.digest, launch.image_size) == ("windtunnel/app:1", "d" * 64, 1000)


@pytest.mark.parametrize(
    "change",
    [
        {"env": {"A": "other"}},
        {"command": ("run", "other")},
        {"port": 5001},
        {"limits": Limits(memory=1 << 20)},
        {"limits": Limits(cpus=2)},
        {"services": (Service("cache", image="memcached"),)},
    ],
)
def test_a_change_in_target_toml_changes_the_identity(change):
    def launch(target: Target) -> str:
        services = [foreign_service(service, IMAGE) for service in target.services]
        return resolve(target, at("4"), IMAGE, services).identity

    assert launch(TARGET) != launch(replace(TARGET, **change))


@pytest.mark.parametrize(
    "change", [{"description": "other"}, {"ready": Ready("/up")}, {"name": "renamed"}, {"workers": 9}]
)
def test_what_changes_no_measurement_does_not(change):
    assert resolve(TARGET, at("4"), IMAGE).identity == resolve(replace(TARGET, **change), at("4"), IMAGE).identity


def test_another_image_is_another_identity_but_its_reference_and_size_are_not():
    launch = resolve(TARGET, at("4"), IMAGE)
    assert launch.identity != resolve(TARGET, at("4"), replace(IMAGE, digest="e" * 64)).identity
    assert launch.identity == resolve(TARGET, at("4"), replace(IMAGE, reference="x", size=2)).identity


def test_a_client_serves_no_port_and_runs_its_worker():
    client = Target("c", "targets/c", kind="client", worker=("perl", "worker.pl"))
    launch = resolve(client, Variant("c"), IMAGE)
    assert (launch.port, launch.command) == (None, ("perl", "worker.pl"))
    axis = {"lang": {"x": AxisValue(command=("other",))}}
    assert resolve(replace(client, axes=axis), Variant("c", (("lang", "x"),)), IMAGE).command == ("other",)


def test_a_service_goes_over_its_target():
    inner = resolve(TARGET, at("4"), IMAGE)
    (plain,) = own_service(Service("s", target="app"), inner)
    assert plain == replace(inner, name="s")
    limits = Limits(cpus=0.5)
    service = Service("s", target="app", port=1, env={"A": "s", "D": "s"}, command=("x",), limits=limits)
    (changed,) = own_service(service, inner)
    assert dict(changed.env) == {"A": "s", "B": "perl", "C": "workers", "D": "s"}
    assert (changed.port, changed.command, changed.limits) == (1, ("x",), limits)


def test_services_of_services_come_first_and_in_one_row():
    leaf = resolve(TARGET, at("4"), Image("leaf", "1"))
    (leaf_service,) = own_service(Service("leaf", target="app"), leaf)
    middle = resolve(TARGET, at("4"), Image("middle", "2"), [leaf_service])
    top = resolve(TARGET, at("4"), Image("top", "3"), own_service(Service("middle", target="app"), middle))
    assert [(service.name, service.image) for service in top.services] == [
        ("middle/leaf", "leaf"),
        ("middle", "middle"),
    ]
    assert all(service.services == () for service in top.services)
    changed = replace(leaf, digest="other")
    middle = resolve(TARGET, at("4"), Image("middle", "2"), own_service(Service("leaf", target="app"), changed))
    assert (
        resolve(TARGET, at("4"), Image("top", "3"), own_service(Service("m", target="app"), middle)).identity
        != top.identity
    )


def test_warnings_travel_up_once_and_are_no_part_of_the_identity():
    doubtful = replace(IMAGE, warnings=("doubt",))
    service = own_service(Service("s", target="app"), resolve(TARGET, at("4"), doubtful))
    launch = resolve(TARGET, at("4"), doubtful, service)
    assert launch.warnings == ("doubt",)
    clean = own_service(Service("s", target="app"), resolve(TARGET, at("4"), IMAGE))
    assert launch.identity == resolve(TARGET, at("4"), IMAGE, clean).identity


def test_an_image_by_name():
    launch = foreign_service(
        Service("m", image="memcached:1", port=11211, env={"A": "1"}), Image("memcached:1", "sha256:1", 5)
    )
    assert (launch.name, launch.image, launch.digest, launch.port) == ("m", "memcached:1", "sha256:1", 11211)
    assert (launch.env, launch.command, launch.limits) == ((("A", "1"),), None, Limits())
