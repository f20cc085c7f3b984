"""Containers and their load side-car as context managers."""
