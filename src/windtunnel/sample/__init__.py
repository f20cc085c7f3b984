"""The schedule (pure), the measuring itself, summaries (pure) and the run file."""
