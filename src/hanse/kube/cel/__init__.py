"""CEL, the expression language of Kubernetes: compile an expression, bound what it costs, evaluate it over JSON values.

`compile_rule` gives a `Rule`; everything else in this package is what a Rule is made from: the types of the
variables, the functions that Kubernetes adds to the language, and the sentences of its errors. Where the
engine (cel-expr-python) is not built for a platform, `EngineMissing` is raised when an expression would be compiled.
"""

from hanse.kube.cel.foreign import EngineMissing
from hanse.kube.cel.rule import CompileError, CostError, EvaluationError, Rule, compile_rule

__all__ = ["CompileError", "CostError", "EngineMissing", "EvaluationError", "Rule", "compile_rule"]
