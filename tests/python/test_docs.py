"""The examples in the doc strings of operators print what they say."""

import doctest

import pytest

import shunt

FUNCTIONS = shunt._C._functions
DOCS = {name: getattr(FUNCTIONS, name).__doc__ or "" for name in dir(FUNCTIONS)}
TEXTS = {name: text for name, text in DOCS.items() if "\n>>> " in text}


@pytest.mark.parametrize("name", TEXTS)
def test_example(name):
    examples = doctest.DocTestParser().get_doctest(TEXTS[name], {"shunt": shunt}, name, None, 0)
    output = []
    doctest.DocTestRunner(verbose=False).run(examples, out=output.append)
    assert not output, "".join(output)
