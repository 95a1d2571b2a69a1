"""The front door of Vitess: a VitessCluster in one cluster is run there, one on the federation is split over members.

Names, key ranges and identities are values that all parts share (`naming`, `key_ranges`, `identity`); `operator` makes
what a VitessCluster consists of, `first` does the same for the first generation of the API, `topology` and `tablets`
speak with Vitess itself, and `federated` stands above the members.
"""
