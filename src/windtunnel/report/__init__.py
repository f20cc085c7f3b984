"""Data to text and JSON. Pure: no I/O, nothing that measures."""
