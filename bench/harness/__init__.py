"""The parts of the propagation bench: REST, workload, modes, watching, metering, phases."""
