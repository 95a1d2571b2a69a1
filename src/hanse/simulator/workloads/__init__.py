"""The controllers that turn workloads into pods: each a pure plan and a thin loop that carries it out."""
