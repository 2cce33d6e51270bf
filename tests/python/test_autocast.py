"""autocast."""

import threading

import pytest

import shunt
from autocast_programs import PROGRAMS, UNCAST, values
from shunt import _autocast, amp


def ones(*sizes, **options):
    return shunt.ones(*sizes, **options)


def test_products_run_in_lower_precision():
    a = ones(4, 4)
    with shunt.autocast("cpu"):
        assert shunt.mm(a, a).dtype is shunt.bfloat16
        assert (a + a).dtype is shunt.float32
        assert shunt.nn.functional.mse_loss(shunt.mm(a, a), a).dtype is shunt.float32
    assert shunt.mm(a, a).dtype is shunt.float32
    with shunt.amp.autocast("cpu", dtype=shunt.float16):
        assert shunt.mm(a, a).dtype is shunt.float16
    double = ones(4, 4, dtype=shunt.float64)
    with shunt.autocast("cpu"):
        assert shunt.mm(double, double).dtype is shunt.float64


def test_nesting_and_settings():
    a = ones(2, 2)
    assert not shunt.is_autocast_enabled("cpu") and not shunt.is_autocast_cpu_enabled()
    with shunt.autocast("cpu", shunt.bfloat16):
        assert shunt.is_autocast_enabled("cpu") and shunt.get_autocast_dtype("cpu") is shunt.bfloat16
        with shunt.autocast("cpu", enabled=False):
            assert not shunt.is_autocast_enabled("cpu") and shunt.mm(a, a).dtype is shunt.float32
        with shunt.autocast("cpu", shunt.float16, cache_enabled=False):
            assert shunt.get_autocast_dtype("cpu") is shunt.float16 and not shunt._C.is_autocast_cache_enabled()
        assert shunt.mm(a, a).dtype is shunt.bfloat16 and shunt._C.is_autocast_cache_enabled()
    assert not shunt.is_autocast_enabled("cpu")


def test_as_a_decorator():
    @shunt.autocast("cpu")
    def f(a):
        """Doc."""
        return shunt.mm(a, a)

    assert f(ones(2, 2)).dtype is shunt.bfloat16 and f.__name__ == "f" and f.__doc__ == "Doc."
    assert not shunt.is_autocast_enabled("cpu")


def test_gradients():
    w = ones(3, 3).requires_grad_()
    with shunt.autocast("cpu"):
        y = shunt.mm(ones(3, 3), w)
    y.sum().backward()
    assert y.dtype is shunt.bfloat16 and w.grad.dtype is shunt.float32 and w.grad.tolist() == [[3.0] * 3] * 3


def test_parameters_are_cast_once():
    w = ones(3, 3).requires_grad_()
    before = shunt._C._autocast_cache_stats()
    with shunt.autocast("cpu"):
        shunt.mm(ones(3, 3), w)
        shunt.mm(ones(3, 3), w)
        assert shunt._C._autocast_cache_stats()["entries"] == 1
    after = shunt._C._autocast_cache_stats()
    assert after["hits"] - before["hits"] == 1 and after["entries"] == 0


def test_it_is_a_threads_own():
    seen = []
    with shunt.autocast("cpu"):
        t = threading.Thread(target=lambda: seen.append(shunt.is_autocast_enabled("cpu")))
        t.start()
        t.join()
    assert seen == [False]


def test_wrong_settings():
    with pytest.raises(ValueError, match="device_type"):
        shunt.autocast(3)
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'nowhere'"):
        shunt.autocast("nowhere")
    with pytest.warns(UserWarning, match="got shunt.float64"), shunt.autocast("cpu", dtype=shunt.float64):
        assert not shunt.is_autocast_enabled("cpu")
    with pytest.raises(KeyError), shunt.autocast("cpu"):
        raise KeyError
    assert not shunt.is_autocast_enabled("cpu")
    assert amp.is_autocast_available("cpu") and not amp.is_autocast_available("tpu")


class Context:
    pass


def test_custom_forward_and_backward():
    @amp.custom_fwd(device_type="cpu", cast_inputs=shunt.float32)
    def cast(ctx, x):
        return x.dtype, shunt.is_autocast_enabled("cpu")

    @amp.custom_fwd(device_type="cpu")
    def plain(ctx, x):
        return shunt.is_autocast_enabled("cpu")

    @amp.custom_bwd(device_type="cpu")
    def backward(ctx, g):
        return shunt.is_autocast_enabled("cpu")

    half = ones(2, dtype=shunt.bfloat16)
    ctx = Context()
    with shunt.autocast("cpu"):
        assert cast(ctx, half) == (shunt.float32, False)
        assert backward(ctx, half) is False
        assert plain(ctx, half) is True
    assert backward(ctx, half) is True
    assert cast(ctx, half) == (shunt.bfloat16, False)


def test_dtypes_of_composites_and_of_lapack():
    F, q, low = shunt.nn.functional, ones(1, 2, 3, 4), (shunt.eye(3) * 2).bfloat16()
    with shunt.autocast("cpu"):
        for result in (
            F.scaled_dot_product_attention(q, q, q),
            F.scaled_dot_product_attention(q, q, q, attn_mask=ones(3, 3)),
            F.conv_transpose1d(ones(1, 3, 4), ones(3, 2, 2)),
            F.conv_transpose2d(ones(1, 3, 4, 4), ones(3, 2, 2, 2)),
        ):
            assert result.dtype is shunt.bfloat16
        for result in (
            shunt.linalg.solve(low, low),
            shunt.linalg.inv(low),
            shunt.linalg.inv_ex(low)[0],
            shunt.linalg.cholesky(low),
            shunt.linalg.cholesky_ex(low)[0],
            F.binary_cross_entropy(low / 4, low / 4),
            F.kl_div(low, low, reduction="sum"),
        ):
            assert result.dtype is shunt.float32


LOW = (shunt.bfloat16, shunt.float16)
EXPECTED = {
    "lower_precision_fp": lambda low, dtype: low,
    "fp32": lambda low, dtype: shunt.float32,
    "promote": lambda low, dtype: dtype,
    "as_given": lambda low, dtype: dtype,
}


@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("name", _autocast.POLICIES)
def test_dtypes_by_policy(name, low):
    for program in PROGRAMS[name]:
        for dtype in (shunt.float32, low):
            with shunt.autocast("cpu", dtype=low):
                result = program(shunt, lambda *sizes: values(shunt, *sizes).to(dtype))
                assert shunt.is_autocast_enabled("cpu")
            assert result.dtype is EXPECTED[_autocast.POLICIES[name]](low, dtype)


@pytest.mark.parametrize("low", LOW)
def test_relatives_without_a_policy(low):
    for program in UNCAST:
        with shunt.autocast("cpu", dtype=low):
            assert program(shunt, lambda *sizes: values(shunt, *sizes).to(low)).dtype is low


@pytest.mark.parametrize("name", _autocast.POLICIES)
def test_policies_leave_float64_alone(name):
    for program in PROGRAMS[name]:
        if name in ("cosine_embedding_loss", "index_copy"):
            continue  # with a float32 target, or nothing to cast
        with shunt.autocast("cpu"):
            result = program(shunt, lambda *sizes: values(shunt, *sizes).double())
        assert result.dtype is shunt.float64


def test_policies_of_mixed_dtypes():
    a, low, at = values(shunt, 3, 2), values(shunt, 1, 2).bfloat16(), shunt.tensor([1])
    with shunt.autocast("cpu"):
        assert shunt.index_copy(a, 0, at, low).dtype is shunt.float32
        assert shunt.cdist(a, a.bfloat16()).dtype is shunt.float32
        assert shunt.nn.functional.prelu(low, a[0, :1]).dtype is shunt.bfloat16
        with pytest.raises(RuntimeError, match="index_copy"):
            a.index_copy_(0, at, low)
    with pytest.raises(RuntimeError, match="index_copy"):
        shunt.index_copy(a, 0, at, low)


def test_policies_leave_calls_with_out_alone():
    a = values(shunt, 3, 2, 2)
    product = shunt.addbmm(a[0], a, a)
    with shunt.autocast("cpu"):
        assert shunt.equal(shunt.addbmm(a[0], a, a, out=shunt.empty(2, 2)), product)
        assert shunt.equal(a[0].clone().addbmm_(a, a), product)
        with pytest.raises(RuntimeError, match="quantile"):
            shunt.quantile(a.bfloat16(), 0.5, out=shunt.empty(()))


def test_policies_and_errors():
    a = values(shunt, 3)
    with shunt.autocast("cpu"):
        with pytest.raises(RuntimeError, match="cdist"):
            shunt.cdist(a, a)
        assert shunt.is_autocast_enabled("cpu") and shunt.get_autocast_dtype("cpu") is shunt.bfloat16
        with pytest.raises(TypeError, match="cdist"):
            shunt.cdist(a)
        with pytest.raises(TypeError, match="quantile"):
            shunt.quantile(a, 0.5, nothing=1)


def test_policies_by_device():
    a = values(shunt, 3, 2).bfloat16()
    with shunt.autocast("cuda"):
        assert shunt.cdist(a, a).dtype is shunt.bfloat16  # a tensor of the CPU
        meta = a.to("meta")
    with shunt.autocast("cpu"):
        assert shunt.cdist(meta, meta).dtype is shunt.bfloat16


def test_policies_and_gradients():
    x, w = values(shunt, 1, 2, 3, 3, 3), values(shunt, 2, 2, 2, 2, 2).requires_grad_()
    with shunt.autocast("cpu"):
        y = shunt.conv3d(x, w)
    y.sum().backward()
    assert y.dtype is shunt.bfloat16 and w.grad.dtype is shunt.float32
    p = values(shunt, 4, 2).bfloat16().requires_grad_()
    with shunt.autocast("cpu"):
        shunt.quantile(p, 0.5).backward()
    assert p.grad.dtype is shunt.bfloat16


def test_policies_while_compiled():
    a = values(shunt, 3, 4)

    @shunt.compile
    def f(x):
        return shunt.cdist(x.bfloat16(), x.bfloat16()), shunt.bilinear(x, x, values(shunt, 2, 4, 4)), shunt.mm(x, x.T)

    for _ in range(3):
        with shunt.autocast("cpu"):
            assert [t.dtype for t in f(a)] == [shunt.float32, shunt.float32, shunt.bfloat16]
        assert [t.dtype for t in f(a)] == [shunt.bfloat16, shunt.float32, shunt.float32]


@pytest.mark.parametrize("low", LOW)
def test_recurrent_layers(low):
    x = values(shunt, 2, 3, 4)
    with shunt.autocast("cpu", dtype=low):
        y, (h, c) = shunt.nn.LSTM(4, 5, num_layers=2, bidirectional=True)(x)
        assert y.dtype is h.dtype is c.dtype is low
        y, (h, c) = shunt.nn.LSTM(4, 5, proj_size=2)(x)
        assert y.dtype is h.dtype is low and c.dtype is shunt.float32
        y, h = shunt.nn.GRU(4, 5)(x)
        assert y.dtype is h.dtype is shunt.float32
        y, h = shunt.nn.RNN(4, 5)(x)
        assert y.dtype is h.dtype is low


def test_warnings_of_functions_with_a_policy_name_the_caller():
    a = values(shunt, 3)
    for enabled in (False, True):
        with shunt.autocast("cpu", enabled=enabled), pytest.warns(UserWarning, match="size_average") as caught:
            shunt.nn.functional.soft_margin_loss(a, a, size_average=True)
        assert caught[0].filename == __file__


def test_each_policy_has_programs():
    assert PROGRAMS.keys() == _autocast.POLICIES.keys()
