"""What people type: commands, their output, and the places where a control plane is put together."""
