"""Publishes the names of the federation's services into zones of other DNS servers; nobody else's are touched."""
