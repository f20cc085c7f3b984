"""The version, in a module that everything may import."""

__version__ = "0.1.0"

HOME = "windtunnel-bench/windtunnel"
"""The repository on GitHub that releases are tagged in, as OWNER/NAME: where workflows take the actions from."""
