"""autocast."""

import threading

import pytest

import shunt
from shunt import amp


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
