"""What was measured of a project over its commits: read from asv's results and our run files, kept in an index."""

from windtunnel.history.index import Index, open_history
from windtunnel.history.update import Changes

__all__ = ["Changes", "Index", "open_history"]
