"""shunt.array_api, the Python array API standard's functions, and what a tensor says of it. The standard's own test
suite: array_api/."""

import pytest

import shunt
from shunt import array_api as xp


def test_a_tensor_names_its_namespace():
    x = shunt.ones(2)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2023.12") is xp
    with pytest.raises(ValueError, match="the newest version is 2024.12, not 2030.12"):
        x.__array_namespace__(api_version="2030.12")
    assert x.to_device("cpu") is x
    with pytest.raises(ValueError, match="there are no streams"):
        x.to_device("cpu", stream=1)
    assert complex(x[0]) == 1 + 0j


def test_a_program_for_any_array_library():
    def standardized(x):
        names = x.__array_namespace__()
        return (x - names.mean(x, axis=0, keepdims=True)) / names.std(x, axis=0, keepdims=True)

    result = standardized(shunt.tensor([[1.0, 5.0], [3.0, 9.0]]))
    assert result.tolist() == [[-1.0, -1.0], [1.0, 1.0]]


def test_functions_promote_tensors_of_no_dimensions_as_others():
    x, y = shunt.ones(2, dtype=shunt.float32), shunt.tensor(1.0, dtype=shunt.float64)
    assert (x + y).dtype is shunt.float32
    assert xp.add(x, y).dtype is xp.result_type(x, y) is shunt.float64
    assert xp.add(x, 1.5).dtype is shunt.float32
    with pytest.raises(TypeError, match=r"add\(\): expected a tensor among the arguments, got int, float"):
        xp.add(1, 2.0)


def test_inspection():
    info = xp.__array_namespace_info__()
    assert info.dtypes(kind=("bool", "unsigned integer")) == {"bool": shunt.bool, "uint8": shunt.uint8}
    assert info.default_device() in info.devices()
    assert info.default_dtypes()["indexing"] is shunt.int64
    assert xp.finfo(shunt.ones(1)).dtype is shunt.float32 and xp.iinfo(shunt.int8).max == 127
    assert xp.isdtype(shunt.int8, ("integral", shunt.bool)) and not xp.isdtype(shunt.bool, "numeric")
    with pytest.raises(ValueError, match="kind must be a dtype"):
        xp.isdtype(shunt.bool, "boolean")


def test_distinct_elements():
    nan = float("nan")
    found = xp.unique_all(shunt.tensor([[3.0, nan], [nan, 3.0], [-0.0, 0.0]]))
    assert found.values[:2].tolist() == [0.0, 3.0] and found.values[2:].isnan().tolist() == [True, True]
    assert found.counts.tolist() == [2, 2, 1, 1]
    assert found.indices.tolist() == [4, 0, 1, 2]
    assert found.inverse_indices.tolist() == [[1, 2], [3, 1], [0, 0]]
    empty = xp.unique_counts(shunt.empty(0))
    assert empty.values.tolist() == empty.counts.tolist() == []


def test_errors_of_arguments():
    x = shunt.ones(2, 3)
    with pytest.raises(ValueError, match="isn't of size 1"):
        xp.squeeze(x, 0)
    with pytest.raises(ValueError, match="axis must be given"):
        xp.cumulative_sum(x)
    with pytest.raises(ValueError, match="needs a copy"):
        xp.reshape(x.mT, (6,), copy=False)
    with pytest.raises(ValueError, match=r"the sizes of dimension -1 differ: 3 and 2"):
        xp.vecdot(x, x.mT)
    with pytest.raises(RuntimeError, match="imag is not implemented"):
        shunt.imag(x)
