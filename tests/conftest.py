"""Fixtures for all tests."""

from __future__ import annotations

from engines import second_engine

__all__ = ["second_engine"]
