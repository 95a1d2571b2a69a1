"""The probes themselves, over real networks: each asks one address once and says what it found."""
