"""The clusters in which a source's pods may run: read, connected to, judged, and shown to the source's engine."""
