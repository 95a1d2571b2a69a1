"""The federation above Vitess, decision by decision."""
