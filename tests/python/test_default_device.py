"""The device of tensors whose device isn't named: `with shunt.device(...)` and set_default_device()."""

import pytest

pytest.importorskip("torch")

import numpy  # noqa: E402
import torch  # noqa: E402

import shunt  # noqa: E402


DEFAULT_DEVICE_MODULES = [
    "nn.Linear(2, 3)", "nn.Bilinear(2, 3, 4)", "nn.Conv2d(1, 2, 3)", "nn.ConvTranspose1d(1, 2, 3)",
    "nn.BatchNorm1d(2)", "nn.LayerNorm(2)", "nn.GroupNorm(1, 2)", "nn.Embedding(2, 3)", "nn.EmbeddingBag(2, 3)",
    "nn.LSTM(2, 3)", "nn.RNNCell(2, 3)", "nn.MultiheadAttention(4, 2)", "nn.PReLU()",
    "nn.TransformerEncoderLayer(4, 2)", "nn.CrossEntropyLoss(weight=torch.ones(2))"]


@pytest.mark.parametrize("module", DEFAULT_DEVICE_MODULES)
def test_modules_take_the_default_device(module):
    def devices(torch):
        with torch.device("meta"):
            made = eval(module, {"torch": torch, "nn": torch.nn})
        return {str(x.device) for x in (*made.parameters(), *made.buffers())}

    assert devices(shunt) == devices(torch) == {"meta"}
    assert {str(x.device) for x in eval(module, {"torch": shunt, "nn": shunt.nn}).parameters()} <= {"cpu"}


#: Nothing is asked for here, or device=None, which is the same; or there is a tensor, which decides.
DEFAULT_DEVICE_CALLS = [
    "torch.zeros(2, device=None)", "torch.tensor([1], device=None)", "torch.asarray([1.0])",
    "torch.asarray(numpy.ones(2))", "torch.from_numpy(numpy.ones(2))", "torch.Tensor([1.0])", "torch.Tensor(2)",
    "torch.logspace(0, 1, 3)", "torch.hann_window(3)", "torch.kaiser_window(3)", "torch.tril_indices(2, 2)",
    "torch.empty_permuted((2, 3), (0, 1))", "torch.nn.LazyLinear(2).weight.data",
    "torch.nn.Transformer.generate_square_subsequent_mask(3)", "torch.combinations(x)", "torch.isin(x, 1.0)",
    "torch.bincount(i)", "torch.nn.functional.one_hot(i, 3)", "torch.unique(x)",
    "torch.nn.functional.pad(x.view(1, 1, 3), (1, 1), mode='reflect')", "torch.linalg.matrix_power(x.diag(), 0)",
    "torch.nn.functional.interpolate(x.view(1, 1, 3), 6)"]


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
@pytest.mark.parametrize("expression", DEFAULT_DEVICE_CALLS)
def test_a_block_of_a_device(expression):
    def device(torch):
        x, i = torch.arange(3.0, device="cpu"), torch.tensor([1, 2], device="cpu")
        with torch.device("meta"):
            return eval(expression, {"torch": torch, "numpy": numpy, "x": x, "i": i}).device.type

    assert device(shunt) == device(torch)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "ASGD", "Rprop"])
def test_parameters_elsewhere_are_updated_in_a_block_of_a_device(optimizer):
    def updated():
        p = shunt.nn.Parameter(shunt.ones(2, device="cpu"))
        o = getattr(shunt.optim, optimizer)([p], lr=0.1)
        p.grad = shunt.ones(2, device="cpu")
        for _ in range(2):
            o.step()
        return p

    with shunt.device("meta"):
        inside = updated()
    assert shunt.equal(inside, updated())


def test_samplers_draw_and_sequences_are_packed_in_a_block_of_a_device():
    with shunt.device("meta"):
        sampler = shunt.utils.data.RandomSampler(range(5))
        assert sorted(sampler) == list(range(5))
        packed = shunt.nn.utils.rnn.pack_sequence([shunt.ones(3, device="cpu"), shunt.ones(2, device="cpu")])
        assert packed.data.is_cpu and packed.batch_sizes.tolist() == [2, 2, 1]
        assert sum(map(len, shunt.utils.data.random_split(range(5), [3, 2]))) == 5
