"""The kinds that Hanse serves and the names it writes: schemas, parsing into typed values, labels and annotations."""
