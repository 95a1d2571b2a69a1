"""What can be done with objects, one module a verb."""
