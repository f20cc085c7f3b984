"""What the page of the site says, held to the code."""

from __future__ import annotations

import re

from pages import only_key_tables, read, section

from windtunnel.compare.rule import CONFIDENCE
from windtunnel.compare.unpaired import least_launches
from windtunnel.history.changes import THRESHOLD
from windtunnel.report.rates import Contender, rate_matrix, render_rates
from windtunnel.site import runpages
from windtunnel.site.levels import MONTH
from windtunnel.site.plugin import Options
from windtunnel.units import Unit, format_share


def test_every_option_of_the_plug_in_is_described_and_no_other() -> None:
    described = only_key_tables(section(read("site.md"), "## In a project's own documentation"))
    assert set(described) == {name for name, _ in Options._schema}


def test_defaults_are_those_of_the_plug_in() -> None:
    described = only_key_tables(section(read("site.md"), "## In a project's own documentation"))
    assert described["folder"][0] == f"`{dict(Options._schema)['folder'].default}`"


def test_the_matrix_of_the_page_is_what_is_printed() -> None:
    shown = re.search(r"```text\n( +Rate.*?)```", read("site.md"), re.DOTALL)
    assert shown is not None
    rates = {"perl_memcached": 3837, "memcached_fast": 18939, "libmemcached": 32895}
    matrix = rate_matrix([Contender(name, 1 / rate) for name, rate in rates.items()], Unit.SECOND)
    assert render_rates(matrix, intervals=False) == shown[1].rstrip("\n")


def test_figures_of_the_text_are_those_of_the_code() -> None:
    text = " ".join(read("site.md").split())
    assert f"{MONTH / 86_400:.0f} days" in text
    assert f"{format_share(THRESHOLD)} or more" in text
    assert f"{CONFIDENCE:.0%}".replace("%", " %") in text
    assert least_launches(CONFIDENCE) == 4
    assert "four launches or more" in text
    assert runpages._REPORTS == 40
    assert "the forty that matter most" in text
