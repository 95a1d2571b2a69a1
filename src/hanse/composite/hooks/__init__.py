"""Calls the functions that users write: behind a URL, in Python or in Jsonnet, and all of them in one way.

`opening.open_hook` makes a hook of what a controller object says; `calling.Hook` is what the rest of the room sees.
Python and Jsonnet run in processes of their own (`workers`), which import as little of Hanse as they can.
"""
