"""A federated Vitess on virtual time: members with operators, tablets and lockservers that break apart."""
