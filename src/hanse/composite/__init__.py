"""The front door of lambda controllers: an operator is a function from a parent to the children that shall exist.

`sync(parent, observed) -> desired` is the user's, and pure; what stands around it is here: what is observed
(`observing`), what the function said (`bodies`), what follows from it (`planning`, pure) and the carrying out
(`hosting`). The API is Metacontroller's; the functions are webhooks, Python or Jsonnet (`hooks`).
"""
