"""Health by quorum: checkers in several clusters probe every address, and a majority of them has to agree.

The leader assigns (`assigner`), checkers probe and report (`checker`, `probing`), the votes are counted (`votes`), and
whoever leads clients to services asks the `view`.
"""
