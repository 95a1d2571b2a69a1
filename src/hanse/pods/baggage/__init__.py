"""What goes with pods into their targets: what they name follows them, and Services lead to them wherever they are."""
