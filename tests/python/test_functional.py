"""nn.functional: spellings, defaults and errors. Values are judged by PyTorch's tables (opinfo)."""

import inspect
import math
import warnings

import pytest

import shunt
import shunt.nn.functional as F


def ones(*sizes, **options):
    return shunt.ones(*sizes, **options)


def test_every_function_says_what_it_does():
    for name in F.__all__:
        assert inspect.getdoc(getattr(F, name)), name


def test_functions_of_networks_stand_here_alone():
    for name in ("gelu", "silu", "mse_loss", "cross_entropy_loss", "linear", "elu", "hardtanh"):
        assert not hasattr(shunt, name), name
        assert not hasattr(shunt.Tensor, name + "_"), name
    assert hasattr(shunt, "relu") and hasattr(shunt.Tensor, "relu_")


@pytest.mark.parametrize(
    "name",
    [
        "relu",
        "relu6",
        "hardtanh",
        "elu",
        "selu",
        "celu",
        "leaky_relu",
        "silu",
        "mish",
        "hardswish",
        "hardsigmoid",
        "rrelu",
    ],
)
def test_in_place(name):
    x = shunt.tensor([-4.0, -1.0, 0.0, 2.0, 9.0])
    f, y = getattr(F, name), x.clone()
    assert f(y, inplace=True) is y
    assert shunt.equal(y, f(x))


@pytest.mark.parametrize("reduction, value", [("mean", 2.5), ("sum", 5.0), ("none", [1.0, 4.0])])
def test_reductions_by_name(reduction, value):
    assert F.mse_loss(shunt.tensor([1.0, 2.0]), shunt.zeros(2), reduction=reduction).tolist() == value


def test_older_spelling_of_reductions():
    with pytest.warns(UserWarning, match="reduction="):
        assert F.l1_loss(ones(4), shunt.zeros(4), size_average=False).item() == 4.0
    with pytest.warns(UserWarning, match="reduction="):
        assert F.l1_loss(ones(4), shunt.zeros(4), reduce=False).tolist() == [1.0] * 4


def test_softmax_without_a_dimension_warns():
    with pytest.warns(UserWarning, match="dim=X"):
        assert shunt.allclose(F.softmax(shunt.zeros(2, 4)), shunt.full((2, 4), 0.25))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F.softmax(shunt.zeros(2, 4), dim=1)


def test_cross_entropy():
    logits, target = shunt.zeros(2, 4), shunt.tensor([1, 3])
    assert math.isclose(F.cross_entropy(logits, target).item(), math.log(4), rel_tol=1e-6)
    assert math.isclose(F.cross_entropy(logits, target, label_smoothing=0.1).item(), math.log(4), rel_tol=1e-6)
    assert F.cross_entropy(logits, shunt.tensor([1, -100]), reduction="none").tolist()[1] == 0.0


def test_padding_by_name():
    x, w = ones(1, 1, 5), ones(1, 1, 3)
    assert F.conv1d(x, w, padding="same").tolist() == [[[2.0, 3.0, 3.0, 3.0, 2.0]]]
    assert F.conv1d(x, w, padding="valid").shape == (1, 1, 3)
    assert F.conv3d(ones(1, 1, 3, 3, 3), ones(1, 1, 3, 3, 3), padding="same").shape == (1, 1, 3, 3, 3)


def test_dropout():
    x = ones(1000)
    assert F.dropout(x, training=False) is x or shunt.equal(F.dropout(x, training=False), x)
    kept = F.dropout(x, 0.25)
    assert set(kept.unique().tolist() if hasattr(kept, "unique") else kept.tolist()) <= {
        0.0,
        shunt.tensor(1 / 0.75).item(),
    }
    whole = F.dropout2d(ones(8, 16, 3, 3))
    assert all(len(set(channel.flatten().tolist())) == 1 for image in whole for channel in image)


def test_embedding():
    table = shunt.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    rows = F.embedding(shunt.tensor([[1, 2], [2, 0]]), table, padding_idx=2)
    assert rows.shape == (2, 2, 2)
    rows.sum().backward()
    assert table.grad.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]


def test_embedding_scales_large_rows():
    table = shunt.tensor([[3.0, 4.0], [0.3, 0.4]])
    F.embedding(shunt.tensor([0, 1]), table, max_norm=1.0)
    assert shunt.allclose(table, shunt.tensor([[0.6, 0.8], [0.3, 0.4]]), atol=1e-5)


def test_gradients_pass_composites():
    x = shunt.randn(2, 4, 6, requires_grad=True)
    F.group_norm(
        F.interpolate(F.pad(x, (1, 1), mode="reflect"), scale_factor=2, mode="linear"), 2
    ).square().sum().backward()
    assert x.grad.shape == x.shape


@pytest.mark.parametrize(
    "call, error, part",
    [
        (lambda: F.mse_loss(ones(2), ones(2), reduction="median"), ValueError, "'sum', got 'median'"),
        (lambda: F.dropout(ones(2), 1.5), ValueError, "from 0 to 1, got 1.5"),
        (lambda: F.hardtanh(ones(2), 2, 1), ValueError, "min_val"),
        (lambda: F.glu(ones(3)), RuntimeError, "expected an even size"),
        (lambda: F.binary_cross_entropy(ones(2) * 2, ones(2)), RuntimeError, "between 0 and 1"),
        (lambda: F.binary_cross_entropy(ones(2), ones(2) * 2), RuntimeError, "elements of target should be between 0 and 1"),
        (lambda: shunt.max_pool1d(ones(1, 1, 4), [2, 1]), RuntimeError, "'kernel_size' should be one number, but got [2, 1]"),
        (lambda: shunt.max_pool1d(ones(1, 1, 4), 2, [2, 1]), RuntimeError, "'stride' should be one number, but got [2, 1]"),
        (lambda: F.binary_cross_entropy(ones(2), ones(3)), ValueError, "target of shape (2,), as input is, got (3,)"),
        (lambda: F.batch_norm(ones(1, 3), None, None, training=True), ValueError, "more than one value"),
        (lambda: F.group_norm(ones(2, 3, 4), 2), RuntimeError, "divisible by num_groups"),
        (lambda: F.pad(ones(2), (1,)), RuntimeError, "even count"),
        (lambda: F.pad(ones(1, 2), (2, 0), mode="reflect"), RuntimeError, "less padding than the 2 elements"),
        (lambda: F.interpolate(ones(1, 1, 4)), ValueError, "size or scale_factor"),
        (lambda: F.interpolate(ones(1, 1, 4), 8, mode="bilinear"), NotImplementedError, "bilinear"),
        (lambda: F.pixel_shuffle(ones(1, 3, 2, 2), 2), RuntimeError, "divisible by the square"),
        (lambda: F.pixel_unshuffle(ones(1, 3, 3, 2), 2), RuntimeError, "divisible by"),
        (lambda: F.one_hot(shunt.tensor([-1])), RuntimeError, "non-negative"),
        (lambda: F.triplet_margin_loss(ones(2, 2), ones(2, 2), ones(2, 2), margin=0), ValueError, "margin"),
        (lambda: F.max_pool1d(ones(2), 1), RuntimeError, "2 or 3 dimensions, got shape [2]"),
    ],
)
def test_errors(call, error, part):
    with pytest.raises(error) as caught:
        call()
    assert part in str(caught.value)


@pytest.mark.parametrize(
    "loss",
    [F.binary_cross_entropy, lambda x, y: F.gaussian_nll_loss(x, y, y)],
    ids=["binary_cross_entropy", "gaussian_nll_loss"],
)
def test_losses_that_look_at_values_are_recorded(loss):
    x, y = shunt.linspace(0.1, 0.9, 5), shunt.linspace(0.2, 0.6, 5)
    f = shunt.compile(loss)
    assert all(f(x, y).item() == loss(x, y).item() for _ in range(5))
    assert " 0 calls ran a graph" not in str(f.explain())
    with pytest.raises((RuntimeError, ValueError)):
        loss(x + 1, y - 1)


def test_bytes_are_interpolated():
    """As PyTorch does: rounded to the nearest byte after each dimension, and not computed in bytes."""
    x = shunt.arange(60).reshape(1, 1, 6, 10).to(shunt.uint8)
    y = F.interpolate(x, size=(3, 7), mode="bilinear")
    assert y.dtype is shunt.uint8
    assert y.flatten().tolist() == [5, 7, 8, 10, 11, 12, 14, 25, 27, 28, 30, 31, 32, 34, 45, 47, 48, 50, 51, 52, 54]
    steps = shunt.tensor([[[[0, 255, 255, 0]]]], dtype=shunt.uint8)
    assert F.interpolate(steps, size=(1, 8), mode="bicubic").max().item() == 255


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_padding_that_leaves_nothing_of_one_dimension(mode):
    assert F.pad(ones(1, 1, 5, 5), (0, 0, 0, -5), mode=mode).shape == (1, 1, 0, 5)
    with pytest.raises(RuntimeError, match="too small"):
        F.pad(ones(1, 1, 5, 5), (0, -5, 0, -5), mode=mode)


def sampled(module, mode, padding_mode, grid, align_corners=False):
    image = module.arange(1, 10.0).reshape(1, 1, 3, 3)
    image[0, 0, 0, 0] = math.inf
    places = module.tensor([[grid]])
    return module.nn.functional.grid_sample(image, places, mode, padding_mode, align_corners).flatten().tolist()


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_infinite_pixels_and_places_of_grid_sample(mode):
    # Far from the infinite pixel, and beside the image, nothing of it is seen.
    edge = sampled(shunt, mode, "zeros", [[3.0, 0.0], [1.0, 1.0], [1.2, 0.0]])
    assert edge[0] == 0 and all(map(math.isfinite, edge))
    torch = pytest.importorskip("torch")
    odd = [[math.nan, 0.5], [0.5, math.nan], [math.inf, 0.5], [-math.inf, math.inf], [0.3, 0.4], [-1.0, -1.0]]
    for padding_mode in ("zeros", "border", "reflection"):
        for align_corners in (False, True):
            ours, theirs = (sampled(m, mode, padding_mode, odd, align_corners) for m in (shunt, torch))
            assert ours == pytest.approx(theirs, nan_ok=True, rel=1e-5), (padding_mode, align_corners)


def bags(module, input, offsets=None, weights=None, **options):
    offsets = None if offsets is None else module.tensor(offsets)
    weights = None if weights is None else module.tensor(weights)
    bag = module.nn.functional.embedding_bag
    return bag(module.tensor(input), module.ones(3, 2), offsets, per_sample_weights=weights, **options)


@pytest.mark.parametrize(
    "program, match",
    [
        (lambda L: L.nn.functional.embedding(L.tensor([0]), L.ones(3, 2), padding_idx=3), r"embedding\(\).*got 3"),
        (lambda L: L.nn.functional.embedding(L.tensor([0]), L.ones(3, 2), padding_idx=-4), r"embedding\(\).*got -4"),
        (lambda L: bags(L, [[0, 1]], padding_idx=5), r"embedding_bag\(\).*got 5"),
        (lambda L: bags(L, [[0, 1]], mode="most"), "mode .*got 'most'"),
        (lambda L: bags(L, [[0, 1]], weights=[[1.0, 1.0]], mode="mean"), "per_sample_weights .*got 'mean'"),
        (lambda L: bags(L, [[0, 1]], weights=[[1.0]], mode="sum"), r"shape \(1, 2\), got \(1, 1\)"),
        (lambda L: bags(L, [[0, 1]], [0]), "no offsets"),
        (lambda L: bags(L, [0, 1]), "offsets.*got none"),
        (lambda L: bags(L, [0, 1], [[0]]), "offsets.*got 2"),
        (lambda L: bags(L, 0), "dimensions, got 0"),
        (lambda L: L.nn.Conv1d(4, 4, 1, groups=0), r"Conv1d\(\).*groups.*got 0"),
        (lambda L: L.nn.Conv1d(3, 4, 1, groups=2), "in_channels.*got 3"),
        (lambda L: L.nn.Conv1d(4, 3, 1, groups=2), "out_channels.*got 3"),
        (lambda L: L.nn.Conv1d(4, 4, 1, padding="full"), "padding .*got 'full'"),
        (lambda L: L.nn.Conv1d(4, 4, 1, padding_mode="wrap"), "padding_mode .*got 'wrap'"),
        (lambda L: L.nn.Conv1d(4, 4, 3, 2, padding="same"), r"stride of 1, got \(2,\)"),
        (lambda L: L.linalg.multi_dot([L.ones(2, 2), L.ones(2, 2).double()]), "float32 for tensor 0 and .*float64"),
    ],
)
def test_messages_of_what_does_not_go_together(program, match):
    """The type is PyTorch's, the sentence says argument, expected and got."""
    torch = pytest.importorskip("torch")
    with pytest.raises(Exception) as theirs:
        program(torch)
    with pytest.raises(theirs.type, match=match):
        program(shunt)


@pytest.mark.parametrize("options", [{}, {"enable_nested_tensor": False}])
def test_an_encoders_padded_places(options):
    """They are computed as the others; PyTorch's nested tensors give zeros there (docs/differences.md)."""
    torch = pytest.importorskip("torch")
    found = []
    for module in (shunt, torch):
        layer = module.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        encoder = module.nn.TransformerEncoder(layer, 1, **options).eval()
        padded = module.tensor([[False, False, True], [False, True, True]])
        with module.no_grad():
            for i, p in enumerate(encoder.parameters()):
                p.copy_(module.linspace(-1, 1 + i / 3, p.numel()).reshape(p.shape))
            y = encoder(module.arange(24.0).reshape(2, 3, 4).sin(), src_key_padding_mask=padded)
        found.append((y[~padded].tolist(), y[padded].tolist()))
    (ours, ours_padded), (theirs, theirs_padded) = found
    for a, b in zip(ours, theirs):
        assert a == pytest.approx(b, rel=1e-4, abs=1e-5)
    for a, b in zip(ours_padded, theirs_padded):
        assert (a == pytest.approx(b, rel=1e-4, abs=1e-5)) if options else (any(a) and not any(b))


def test_masks_of_attention():
    q = shunt.ones(1, 2, 4)
    for dtype in (shunt.int64, shunt.float64, shunt.float16):
        with pytest.raises(RuntimeError, match="attn_mask to be of dtype Bool or Float"):
            F.scaled_dot_product_attention(q, q, q, attn_mask=shunt.ones(2, 2, dtype=dtype))
    half = q.half()
    assert F.scaled_dot_product_attention(half, half, half, attn_mask=shunt.zeros(2, 2)).dtype is shunt.float16


def test_losses_of_saturated_probabilities_have_gradients():
    x = shunt.tensor([0.0, 1.0, 1.0, 0.0, 0.25], requires_grad=True)
    loss = F.binary_cross_entropy(x, shunt.tensor([0.0, 1.0, 0.0, 1.0, 1.0]), reduction="none")
    assert loss.tolist()[:4] == [0.0, 0.0, 100.0, 100.0]
    loss.sum().backward()
    assert x.grad.tolist() == pytest.approx([0.0, 0.0, 1e12, -1e12, -4.0])
    logits = shunt.tensor([50.0], requires_grad=True)
    shunt.nn.BCELoss()(logits.sigmoid(), shunt.ones(1)).backward()
    assert logits.grad.item() == 0


def test_edges_of_composites():
    with pytest.raises(RuntimeError, match="of 32 bits"):
        F.pixel_shuffle(ones(1, 4, 2, 2), 2**32)
    image = ones(1, 4, 2, 2)
    F.pixel_shuffle(image, 1).fill_(3)
    assert image.max().item() == 1
    q, k, v = (shunt.arange(4.0).reshape(1, 2, 2) + i for i in range(3))
    assert shunt.equal(
        F.scaled_dot_product_attention(q, k, v, scale=-0.5), F.scaled_dot_product_attention(-q, k, v, scale=0.5)
    )
    for rows in (2, 3, 5):
        with pytest.raises(RuntimeError, match="expected weights of"):
            shunt.lstm_cell(ones(2, 3), [ones(2, 1), ones(2, 1)], ones(rows, 3), ones(rows, 1))
    with pytest.raises(RuntimeError, match="of one shape"):
        shunt.lstm_cell(ones(2, 3), [ones(2, 2), ones(2, 1)], ones(8, 3), ones(8, 2))
    with pytest.raises(RuntimeError, match="expected weights of"):
        shunt.rnn_tanh_cell(ones(2, 3), ones(2, 2), ones(4, 3), ones(1, 2))
    assert shunt.nn.GroupNorm(2, 4)(ones(2, 4, 3).bfloat16()).dtype is shunt.bfloat16
    assert F.conv_transpose1d(ones(1, 1, 3), ones(1, 1, 2), dilation=3, output_padding=2).tolist() == \
        F.conv_transpose1d(ones(1, 1, 3).double(), ones(1, 1, 2).double(), dilation=3, output_padding=2).tolist()
    assert F.interpolate(shunt.arange(2.0).reshape(1, 1, 2), size=82)[0, 0, 41].item() == 0
    with pytest.raises(RuntimeError, match="positive-definite"):
        shunt.linalg.cholesky(shunt.tensor([[float("nan"), 1.0], [1.0, 2.0]]))


def test_gradients_at_poles():
    y = shunt.zeros(1, requires_grad=True)
    shunt.atan2(y, shunt.zeros(1)).backward()
    assert y.grad.item() == 0
    x = shunt.tensor([1e-25], requires_grad=True)
    shunt.sinc(x).backward()
    assert x.grad.item() == 0
    assert shunt.polygamma(172, shunt.tensor([0.5], dtype=shunt.float64)).item() == -float("inf")
    assert shunt.bucketize(1e300, shunt.tensor([1.0, 2.0])).item() == 2
