"""Electing pods as they are created: the placeholder that is stored, what is refused, and the server that is asked."""
