"""Conversations over WebSockets: exec and attach as channels, port-forward as channels or as tunnelled SPDY."""
