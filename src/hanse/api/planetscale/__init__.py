"""The second generation of the Vitess operator's API, `planetscale.com/v2`: kinds, schemas, and specs as values."""
