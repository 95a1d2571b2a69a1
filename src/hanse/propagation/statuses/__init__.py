"""What the members' objects amount to, in the status that their kind has: one module a family, all of them pure."""
