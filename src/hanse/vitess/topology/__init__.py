"""Vitess' topology: the records in its lockservers, who may change them when, and what has to be changed."""
