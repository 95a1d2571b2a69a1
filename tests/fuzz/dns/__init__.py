"""Packets against the DNS server in a process of its own."""
