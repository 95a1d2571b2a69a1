"""Where askers and clusters are, and how far from each other: pure values and tables."""
