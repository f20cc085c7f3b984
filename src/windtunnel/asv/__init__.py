"""asv's way in: the environment plug-in and the benchmark base class."""
