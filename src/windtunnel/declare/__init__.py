"""What people write (target.toml, windtunnel.toml, asv.conf.json, benchmark classes) turned into the nouns.

`toml` and `reader` find values and their lines; `target`, `targets`, `settings`, `suite` and `cases` each read one
kind of file. Whatever is wrong ends as a `ConfigError` that names file, key and line before anything is built.
"""

from __future__ import annotations

__all__: list[str] = []
