"""How pods find the federation's services by the DNS of their own cluster."""
