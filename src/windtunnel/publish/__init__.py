"""What becomes of a run: the comment and the check of a pull request, and the history. Use cases over `Forge`."""
