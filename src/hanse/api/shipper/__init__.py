"""Shipper's kinds, group shipper.booking.com/v1alpha1, as Hanse serves them."""
