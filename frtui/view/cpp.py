"""C++ names as people read them: `c10d::ops::allreduce_CPU`, not three lines of template arguments."""

from __future__ import annotations

import re

_ANONYMOUS = re.compile(r"\(anonymous namespace\)::|\{anonymous\}::|<unnamed>::")
# An operator's name may hold brackets that open nothing; neither does the arrow close any.
_TOKEN = re.compile(
    r"\boperator\s?(?:\(\)|\[\]|<=>|<<=|>>=|<<|>>|<=|>=|->\*|->|<|>)|->|[<>(){}]|[^<>(){}o-]+|[o-]", re.DOTALL
)
_CLOSES = {">": "<", ")": "("}
_TAIL = re.compile(r"(?: (?:const|volatile|noexcept)| \[clone [^\]]*\]|\[abi:\w+\]| ?&{1,2})+$")
_ABI = re.compile(r"\[abi:\w+\]")
_QUALIFIER = re.compile(r" (?:const|volatile|noexcept)(?=::)")
_DECLARATOR = re.compile(r"^[^(<]* \(\*")


def readable(name: str) -> str:
    """A function's name without its result, its arguments and its template arguments.

    >>> readable("void at::native::(anonymous namespace)::fill<float, 2>(at::Tensor const&)")
    'at::native::fill<…>'
    >>> readable("c10d::Reducer::run() const::{lambda(int)#1}::operator()(int) const")
    'c10d::Reducer::run::{lambda#1}::operator()'
    """
    told = _without_arguments(_ABI.sub("", _ANONYMOUS.sub("", name)))
    told = _QUALIFIER.sub("", _TAIL.sub("", told)).replace(" <…>", "<…>")
    result, operator, rest = told.partition("operator")
    told = (result.rpartition(" ")[2] + operator + rest) if operator else told.rpartition(" ")[2]
    # What has a function for its result, or is no C++ at all (`<lambda>`), stays as it is.
    return name if not told or told.startswith("<") or _DECLARATOR.search(name) else told


def _without_arguments(name: str) -> str:
    """Of a name that was cut in the middle of its arguments, what comes before them."""
    kept: list[str] = []
    opened: list[str] = []
    for token in _TOKEN.findall(name):
        if token in ("<", "("):
            if not opened and token == "<":
                kept.append("<…>")
            opened.append(token)
        elif token in _CLOSES and opened:
            if opened[-1] == _CLOSES[token]:
                opened.pop()
        elif not opened:
            kept.append(token)
    return "".join(kept).strip()
