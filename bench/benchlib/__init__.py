"""How well windtunnel decides: noise recorded, comparisons simulated from it, and real ones made by the dozen."""
