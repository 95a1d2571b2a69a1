"""The operator of `planetscale.com/v2`: what each kind consists of, what may change when, and what may go.

Every kind has one pure function from a parent and what is observed to the children that shall exist, a status and what
is to be told; `hooks` gives them to the lambda controllers of `hanse.composite`, which claim, compare and write.
"""
