"""C++ names as people read them."""

from __future__ import annotations

import pytest

from frtui.view.cpp import readable

NAMES = {
    "c10d::Reducer::mark_bucket_ready(unsigned long)": "c10d::Reducer::mark_bucket_ready",
    "c10d::ops::(anonymous namespace)::allreduce_CPU(c10::ArrayRef<T>, long)": "c10d::ops::allreduce_CPU",
    "std::tuple<int, x<y> > c10::impl::Boxed<a<b>, void>::call(int)": "c10::impl::Boxed<…>::call",
    "torch::PostHook::operator()(std::vector<T> const&) const": "torch::PostHook::operator()",
    "f::run() const::{lambda(int)#1}::operator()(int) const": "f::run::{lambda#1}::operator()",
    "std::ostream& operator<< <char>(std::ostream&, char)": "operator<<<…>",
    "bool operator< (a const&, b const&)": "operator<",
    "at::Tensor::operator->() const": "at::Tensor::operator->",
    "x::operator bool() const": "x::operator bool",
    "f<(1>2), g->h>(int)": "f<…>",
    "foo[abi:cxx11](int) [clone .cold]": "foo",
    "pybind11::initialize<pybind11::initialize<c10::intr": "pybind11::initialize<…>",
    "_PyEval_EvalFrameDefault": "_PyEval_EvalFrameDefault",
    "<lambda>": "<lambda>",
    "void (*choose(int))(char)": "void (*choose(int))(char)",
    "??": "??",
    "": "",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_what_is_called(name: str) -> None:
    assert readable(name) == NAMES[name]


def test_a_name_as_long_as_it_may_be_takes_no_time() -> None:
    assert readable("a<" * 100_000) == "a<…>"
