"""`python -m hanse`: the command line."""

from hanse.cli.main import main

main()
