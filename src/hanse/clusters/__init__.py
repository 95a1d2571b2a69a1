"""The registry of members: join, credentials, health, and a connection to each."""
