"""The upstream conformance tests as a judge of simulated clusters: `python -m tests.conformance`.

Two clusters are judged by the same tests: a real control plane with simulated nodes says what can be passed without a
container that really runs, and a simulated cluster on the embedded API server has to pass that.
"""
