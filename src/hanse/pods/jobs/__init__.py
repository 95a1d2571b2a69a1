"""Whole Jobs that run elsewhere: those whose `spec.managedBy` names Hanse go to one target, with all their pods."""
