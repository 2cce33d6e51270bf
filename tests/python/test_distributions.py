"""Distributions against PyTorch's: densities, entropies, divergences, shapes, moments of samples, and errors."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import shunt  # noqa: E402
from compiling import hits  # noqa: E402
from twins import same  # noqa: E402

OURS, THEIRS = shunt.distributions, torch.distributions


def t(lib, *values, dtype=None):
    return lib.tensor(list(values), dtype=dtype or lib.float64)


# By name: how one is made of (library, its module of distributions), and values to look at.
CASES = {
    "Normal": (lambda t, D, L: D.Normal(t(L, 0.5, -1.0), t(L, 0.7, 2.0)), [[0.1, 0.2], [-3.0, 4.0]]),
    "Normal of numbers": (lambda t, D, L: D.Normal(0.0, 2.0), [0.5, -1.0]),
    "Uniform": (lambda t, D, L: D.Uniform(t(L, 0.0, -1.0), t(L, 1.0, 2.0)), [[0.1, 0.2], [0.9, -0.5]]),
    "Bernoulli": (lambda t, D, L: D.Bernoulli(t(L, 0.2, 0.9)), [[0.0, 1.0], [1.0, 0.0]]),
    "Bernoulli of logits": (lambda t, D, L: D.Bernoulli(logits=t(L, -2.0, 0.3)), [[0.0, 1.0]]),
    "Categorical": (
        lambda t, D, L: D.Categorical(L.tensor([[0.1, 0.2, 0.7], [3.0, 1.0, 1.0]], dtype=L.float64)),
        [[0, 2], [1, 1]],
    ),
    "Categorical of logits": (lambda t, D, L: D.Categorical(logits=t(L, -1.0, 0.0, 2.0)), [0, 2, 1]),
    "OneHotCategorical": (lambda t, D, L: D.OneHotCategorical(t(L, 0.1, 0.2, 0.7)), [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
    "Exponential": (lambda t, D, L: D.Exponential(t(L, 0.5, 3.0)), [[0.1, 0.2], [3.0, 1.0]]),
    "Laplace": (lambda t, D, L: D.Laplace(t(L, 0.5, -1.0), t(L, 0.7, 2.0)), [[0.1, 0.2], [-3.0, 4.0]]),
    "LogNormal": (lambda t, D, L: D.LogNormal(t(L, 0.5, -1.0), t(L, 0.7, 0.4)), [[0.1, 0.2], [3.0, 4.0]]),
    "HalfNormal": (lambda t, D, L: D.HalfNormal(t(L, 0.7, 2.0)), [[0.1, 0.2], [3.0, 4.0]]),
    "Cauchy": (lambda t, D, L: D.Cauchy(t(L, 0.5, -1.0), t(L, 0.7, 2.0)), [[0.1, 0.2], [-3.0, 4.0]]),
    "HalfCauchy": (lambda t, D, L: D.HalfCauchy(t(L, 0.7, 2.0)), [[0.1, 0.2], [3.0, 4.0]]),
    "Gumbel": (lambda t, D, L: D.Gumbel(t(L, 0.5, -1.0), t(L, 0.7, 2.0)), [[0.1, 0.2], [-1.0, 4.0]]),
    "Geometric": (lambda t, D, L: D.Geometric(t(L, 0.3, 0.9)), [[0.0, 1.0], [4.0, 0.0]]),
    "Poisson": (lambda t, D, L: D.Poisson(t(L, 0.8, 31.0)), [[0.0, 30.0], [4.0, 20.0]]),
    "Binomial": (lambda t, D, L: D.Binomial(7, t(L, 0.3, 0.9)), [[0.0, 7.0], [4.0, 6.0]]),
    "Multinomial": (lambda t, D, L: D.Multinomial(5, t(L, 0.3, 0.3, 0.4)), [[0.0, 1.0, 4.0], [5.0, 0.0, 0.0]]),
    "Pareto": (lambda t, D, L: D.Pareto(t(L, 0.5, 1.0), t(L, 3.7, 5.0)), [[0.6, 1.2], [3.0, 4.0]]),
    "Weibull": (lambda t, D, L: D.Weibull(t(L, 0.5, 1.0), t(L, 1.7, 3.0)), [[0.6, 1.2], [0.3, 0.4]]),
    "Independent": (
        lambda t, D, L: D.Independent(D.Normal(L.zeros(2, 3, dtype=L.float64), t(L, 1.0, 2.0, 3.0)), 1),
        [[0.1, 0.2, 0.3]],
    ),
    "MultivariateNormal": (
        lambda t, D, L: D.MultivariateNormal(t(L, 0.5, -1.0), L.tensor([[2.0, 0.6], [0.6, 1.0]], dtype=L.float64)),
        [[0.1, 0.2], [-3.0, 4.0]],
    ),
    "MultivariateNormal by precision": (
        lambda t, D, L: D.MultivariateNormal(
            t(L, 0.5, -1.0), precision_matrix=L.tensor([[[2.0, 0.6], [0.6, 1.0]]] * 2, dtype=L.float64)
        ),
        [[0.1, 0.2], [-3.0, 4.0]],
    ),
    "MixtureSameFamily": (
        lambda t, D, L: D.MixtureSameFamily(D.Categorical(t(L, 0.3, 0.7)), D.Normal(t(L, 0.0, 3.0), t(L, 1.0, 0.5))),
        [0.1, 2.0],
    ),
    "MixtureSameFamily of vectors": (
        lambda t, D, L: D.MixtureSameFamily(
            D.Categorical(t(L, 0.3, 0.7)),
            D.Independent(D.Normal(L.tensor([[0.0, 1.0], [3.0, 2.0]], dtype=L.float64), t(L, 1.0, 0.5)), 1),
        ),
        [[0.1, 2.0], [1.0, 1.0]],
    ),
    "RelaxedBernoulli": (lambda t, D, L: D.RelaxedBernoulli(t(L, 0.7), t(L, 0.2, 0.9)), [[0.1, 0.7]]),
    "RelaxedOneHotCategorical": (
        lambda t, D, L: D.RelaxedOneHotCategorical(t(L, 0.7), t(L, 0.2, 0.5, 0.3)),
        [[0.1, 0.7, 0.2]],
    ),
    "TransformedDistribution": (
        lambda t, D, L: D.TransformedDistribution(
            D.Normal(t(L, 0.0, 1.0), 1.0), [D.AffineTransform(1.0, -2.0), D.TanhTransform()]
        ),
        [[0.1, -0.7]],
    ),
}
FIELDS = ("mean", "mode", "variance", "stddev", "batch_shape", "event_shape", "has_rsample", "has_enumerate_support")


def made(name, library):
    return CASES[name][0](t, library.distributions, library)


def values(name, library):
    whole = name.startswith("Categorical")
    return library.tensor(
        CASES[name][1], dtype=library.int64 if whole else library.float32 if "numbers" in name else library.float64
    )


def outcome(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function()
        except (NotImplementedError, ValueError, RuntimeError) as error:
            return type(error)
    return np.asarray(result.detach().numpy()) if hasattr(result, "detach") else result


def assert_equal(ours, theirs, what):
    ours, theirs = outcome(ours), outcome(theirs)
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), (what, ours)
        assert ours.dtype == theirs.dtype, what
        np.testing.assert_allclose(
            ours, theirs, rtol=1e-5 if theirs.dtype == np.float32 else 1e-7, atol=1e-9, err_msg=what
        )
    else:
        assert tuple(ours) == tuple(theirs) if isinstance(theirs, tuple) else ours == theirs, what


@pytest.mark.parametrize("name", CASES)
def test_what_is_known_of_a_distribution_is_pytorchs(name):
    ours, theirs = made(name, shunt), made(name, torch)
    for field in FIELDS:
        assert_equal(lambda: getattr(ours, field), lambda: getattr(theirs, field), field)
    x, y = values(name, shunt), values(name, torch)
    for method in ("log_prob", "cdf"):
        assert_equal(lambda: getattr(ours, method)(x), lambda: getattr(theirs, method)(y), method)
    if len(ours.event_shape) == 0:
        q = [0.1, 0.5] if tuple(ours.batch_shape) in ((2,), ()) else [[0.1]]
        assert_equal(
            lambda: ours.icdf(shunt.tensor(q, dtype=x.dtype)),
            lambda: theirs.icdf(torch.tensor(q, dtype=y.dtype)),
            "icdf",
        )
    for method in ("entropy", "perplexity", "enumerate_support"):
        assert_equal(lambda: getattr(ours, method)(), lambda: getattr(theirs, method)(), method)
    assert repr(ours).replace("shunt", "torch") == repr(theirs)
    assert repr(ours.support).replace("shunt", "torch") == repr(theirs.support)
    wide = (4, *theirs.batch_shape)
    assert_equal(
        lambda: ours.expand(wide).log_prob(x[:1] if "Categorical" == name else x),
        lambda: theirs.expand(wide).log_prob(y[:1] if "Categorical" == name else y),
        "expand",
    )


@pytest.mark.parametrize("name", CASES)
def test_samples_have_the_moments(name):
    shunt.manual_seed(5)
    n = 6000
    ours = made(name, shunt)
    drawn = ours.sample((n,))
    assert drawn.shape == (n, *ours.batch_shape, *ours.event_shape) and not drawn.requires_grad
    assert bool(ours.support.check(drawn).all())
    if ours.has_rsample:
        assert ours.rsample((3, 2)).shape == (3, 2, *ours.batch_shape, *ours.event_shape)
    theirs = made(name, torch)
    if name.startswith("Categorical"):
        for k in range(3):
            np.testing.assert_allclose((drawn == k).double().mean(0).numpy(), theirs.probs[..., k].numpy(), atol=0.03)
        return
    mean, variance = outcome(lambda: theirs.mean), outcome(lambda: theirs.variance)
    if isinstance(mean, type):  # PyTorch has no formula: compared with what it draws
        torch.manual_seed(5)
        other = theirs.sample((n,))
        mean, variance = other.mean(0).numpy(), other.var(0).numpy()
    if not np.isfinite(variance).all():  # Cauchy
        mean, drawn, variance = (
            outcome(lambda: theirs.cdf(theirs.mode + 1.0)),
            (drawn <= ours.mode + 1.0).double(),
            None,
        )
        np.testing.assert_allclose(drawn.mean(0).numpy(), mean, atol=0.03)
        return
    error = 6 * np.sqrt(variance / n) + 1e-12
    assert (np.abs(drawn.mean(0).numpy() - mean) <= error).all(), (drawn.mean(0), mean)
    np.testing.assert_allclose(drawn.var(0).numpy(), variance, rtol=0.4 if name in ("Pareto", "LogNormal") else 0.15)


def gradients(library, make, count):
    parameters = [library.tensor([0.4, 0.8], dtype=library.float64, requires_grad=True) for _ in range(count)]
    total = make(library.distributions, *parameters).sum()
    return [g.numpy() for g in library.autograd.grad(total, parameters)]


@pytest.mark.parametrize(
    "make, count",
    [
        (lambda D, a, b: D.Normal(a, b).log_prob(a.detach() * 2), 2),
        (lambda D, a, b: D.Normal(a, b).cdf(a.detach() * 2), 2),
        (lambda D, a, b: D.Normal(a, b).icdf(a.detach()), 2),
        (lambda D, a: D.Bernoulli(a).log_prob(a.detach().round()), 1),
        (lambda D, a: D.Bernoulli(logits=a).entropy(), 1),
        (lambda D, a: D.Categorical(logits=a).entropy(), 1),
        (lambda D, a: D.Categorical(a).log_prob((a.detach() * 0).long()), 1),
        (lambda D, a, b: D.kl_divergence(D.Normal(a, b), D.Normal(b, a)), 2),
        (lambda D, a, b: D.kl_divergence(D.Categorical(logits=a), D.Categorical(logits=b * 2)), 2),
        (lambda D, a, b: D.Uniform(a - 1, b + 1).entropy(), 2),
        (lambda D, a: D.Poisson(a).log_prob(a.detach().round()), 1),
        (lambda D, a, b: D.MultivariateNormal(a, scale_tril=b.diag()).log_prob(b.detach()), 2),
        (lambda D, a, b: D.MultivariateNormal(a, b.outer(b) + (a * 3).diag()).log_prob(b.detach()), 2),
        (lambda D, a, b: D.TransformedDistribution(D.Normal(a, b), [D.SigmoidTransform()]).log_prob(a.detach()), 2),
    ],
)
def test_gradients_are_pytorchs(make, count):
    for ours, theirs in zip(gradients(shunt, make, count), gradients(torch, make, count)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


def test_samples_have_gradients():
    shunt.manual_seed(0)
    loc, scale = shunt.zeros(3, requires_grad=True), shunt.ones(3, requires_grad=True)
    drawn = OURS.Normal(loc, scale).rsample((100,))
    drawn.sum().backward()
    assert loc.grad.tolist() == [100.0] * 3
    assert shunt.allclose(scale.grad, drawn.detach().sum(0), atol=1e-4)
    logits = shunt.zeros(4, requires_grad=True)
    OURS.OneHotCategoricalStraightThrough(logits=logits).rsample()[1].backward()
    assert logits.grad[1] > 0


PAIRS = [
    "Normal",
    "Uniform",
    "Bernoulli",
    "Exponential",
    "Laplace",
    "Cauchy",
    "HalfNormal",
    "LogNormal",
    "Gumbel",
    "Geometric",
    "Poisson",
    "Pareto",
]


@pytest.mark.parametrize("p", PAIRS)
def test_divergences_are_pytorchs(p):
    other = {
        "Normal": lambda t, D, L: D.Normal(t(L, 0.1, 1.0), 2.0),
        "Uniform": lambda t, D, L: D.Uniform(-2.0, t(L, 3.0, 0.5)),
        "Bernoulli": lambda t, D, L: D.Bernoulli(t(L, 0.0, 0.4)),
        "Exponential": lambda t, D, L: D.Exponential(t(L, 2.0, 0.3)),
        "Laplace": lambda t, D, L: D.Laplace(t(L, 2.0, 0.3), 0.7),
        "Cauchy": lambda t, D, L: D.Cauchy(t(L, 2.0, 0.3), 0.7),
        "HalfNormal": lambda t, D, L: D.HalfNormal(t(L, 2.0, 0.3)),
        "LogNormal": lambda t, D, L: D.LogNormal(t(L, 2.0, 0.3), 0.7),
        "Gumbel": lambda t, D, L: D.Gumbel(t(L, 2.0, 0.3), 0.7),
        "Geometric": lambda t, D, L: D.Geometric(t(L, 0.2, 0.3)),
        "Poisson": lambda t, D, L: D.Poisson(t(L, 2.0, 0.3)),
        "Pareto": lambda t, D, L: D.Pareto(0.4, t(L, 2.0, 3.0)),
    }
    for q in PAIRS:
        assert_equal(
            lambda: OURS.kl_divergence(made(p, shunt), other[q](t, OURS, shunt)),
            lambda: THEIRS.kl_divergence(made(p, torch), other[q](t, THEIRS, torch)),
            f"{p} {q}",
        )


@pytest.mark.parametrize(
    "make",
    [
        lambda D, L: (D.Categorical(t(L, 0.3, 0.7)), D.Categorical(t(L, 0.6, 0.4))),
        lambda D, L: (D.Categorical(t(L, 0.3, 0.7)), D.Categorical(t(L, 1.0, 0.0))),
        lambda D, L: (D.OneHotCategorical(t(L, 0.3, 0.7)), D.OneHotCategorical(t(L, 0.6, 0.4))),
        lambda D, L: (D.Binomial(4, t(L, 0.3, 0.7)), D.Binomial(4, t(L, 0.6, 0.4))),
        lambda D, L: (D.Independent(D.Normal(t(L, 0.3, 0.7), 1.0), 1), D.Independent(D.Normal(t(L, 0.6, 0.4), 2.0), 1)),
        lambda D, L: (
            D.MultivariateNormal(t(L, 0.3, 0.7), L.eye(2, dtype=L.float64)),
            D.MultivariateNormal(t(L, 0.6, 0.4), L.tensor([[2.0, 0.6], [0.6, 1.0]], dtype=L.float64)),
        ),
        lambda D, L: (D.Bernoulli(t(L, 0.0, 1.0)), D.Bernoulli(t(L, 0.5, 1.0))),
        lambda D, L: (D.Normal(0.0, 1.0), D.Categorical(t(L, 1.0, 1.0))),
    ],
)
def test_other_divergences_are_pytorchs(make):
    assert_equal(
        lambda: OURS.kl_divergence(*make(OURS, shunt)), lambda: THEIRS.kl_divergence(*make(THEIRS, torch)), "kl"
    )


def test_a_divergence_of_another_pair_can_be_registered():
    class Mine(OURS.Normal):
        pass

    @OURS.register_kl(Mine, OURS.Laplace)
    def _kl(p, q):
        return shunt.tensor(7.0)

    assert OURS.kl_divergence(Mine(0.0, 1.0), OURS.Laplace(0.0, 1.0)) == 7
    assert OURS.kl_divergence(Mine(0.0, 1.0), OURS.Normal(0.0, 1.0)) == 0


@pytest.mark.parametrize(
    "program",
    [
        lambda L: L.distributions.Normal(0.0, -1.0),
        lambda L: L.distributions.Normal(L.zeros(2), L.ones(3)),
        lambda L: L.distributions.Normal("a", 1.0),
        lambda L: L.distributions.Normal(0.0, 1.0).log_prob(3.0),
        lambda L: L.distributions.Normal(0.0, 1.0).log_prob(L.tensor(float("nan"))),
        lambda L: L.distributions.Normal(L.zeros(2), 1.0).log_prob(L.zeros(3)),
        lambda L: L.distributions.Uniform(1.0, 0.0),
        lambda L: L.distributions.Uniform(0.0, 1.0).log_prob(L.tensor(2.0)),
        lambda L: L.distributions.Uniform(0.0, 1.0, validate_args=False).log_prob(L.tensor(2.0)),
        lambda L: L.distributions.Categorical(),
        lambda L: L.distributions.Categorical(L.ones(2), L.ones(2)),
        lambda L: L.distributions.Categorical(L.tensor(1.0)),
        lambda L: L.distributions.Categorical(L.ones(3)).log_prob(L.tensor(5)),
        lambda L: L.distributions.Bernoulli(2.0),
        lambda L: L.distributions.Bernoulli(0.5).rsample(),
        lambda L: L.distributions.Independent(L.distributions.Normal(0.0, 1.0), 1),
        lambda L: L.distributions.MultivariateNormal(L.zeros(2)),
        lambda L: L.distributions.MultivariateNormal(L.zeros(2), -L.eye(2)),
        lambda L: L.distributions.MultivariateNormal(L.zeros(2), scale_tril=-L.eye(2)),
        lambda L: L.distributions.MixtureSameFamily(L.distributions.Normal(0.0, 1.0), L.distributions.Normal(0.0, 1.0)),
        lambda L: L.distributions.Distribution().arg_constraints,
        lambda L: L.distributions.Distribution.set_default_validate_args(2),
        lambda L: L.distributions.TransformedDistribution(L.distributions.Normal(0.0, 1.0), 3),
        lambda L: L.distributions.biject_to(L.distributions.constraints.boolean),
    ],
)
def test_errors_are_pytorchs(program):
    same(program, text="")


def test_messages_name_parameter_and_constraint():
    with pytest.raises(
        ValueError,
        match=r"Normal\(\): expected parameter scale within GreaterThan\(lower_bound=0.0\), got Tensor of shape \(\) "
        r"in Normal\(loc: 0.0, scale: -1.0\)",
    ):
        OURS.Normal(0.0, -1.0)


TRANSFORMS = {
    "exp": lambda D: D.ExpTransform(),
    "power": lambda D: D.PowerTransform(2.0),
    "sigmoid": lambda D: D.SigmoidTransform(),
    "tanh": lambda D: D.TanhTransform(),
    "softplus": lambda D: D.SoftplusTransform(),
    "affine": lambda D: D.AffineTransform(1.0, -3.0),
    "affine event": lambda D: D.AffineTransform(1.0, -3.0, event_dim=1),
    "stick": lambda D: D.StickBreakingTransform(),
    "softmax": lambda D: D.SoftmaxTransform(),
    "abs": lambda D: D.AbsTransform(),
    "composed": lambda D: D.ComposeTransform(
        [D.SigmoidTransform(), D.AffineTransform(-1.0, 2.0), D.StickBreakingTransform()]
    ),
    "independent": lambda D: D.IndependentTransform(D.ExpTransform(), 1),
    "reshape": lambda D: D.ReshapeTransform((3,), (1, 3)),
    "cdf": lambda D: D.CumulativeDistributionTransform(D.Normal(0.0, 2.0)),
    "inverse": lambda D: D.ExpTransform().inv,
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_are_pytorchs(name):
    ours, theirs = TRANSFORMS[name](OURS), TRANSFORMS[name](THEIRS)
    x, y = t(shunt, 0.3, 0.9, 0.2), t(torch, 0.3, 0.9, 0.2)
    assert_equal(lambda: ours(x), lambda: theirs(y), "call")
    assert_equal(lambda: ours.inv(ours(x)), lambda: theirs.inv(theirs(y)), "inverse")
    assert_equal(
        lambda: ours.log_abs_det_jacobian(x, ours(x)), lambda: theirs.log_abs_det_jacobian(y, theirs(y)), "jacobian"
    )
    assert_equal(lambda: ours.forward_shape((4, 3)), lambda: theirs.forward_shape((4, 3)), "shape")
    assert ours.inv.inv == ours and ours.bijective == theirs.bijective
    assert repr(ours.domain) == repr(theirs.domain) and repr(ours.codomain) == repr(theirs.codomain)
    assert_equal(lambda: ours.sign, lambda: theirs.sign, "sign")


def test_a_transform_keeps_its_last_pair():
    transform = OURS.TanhTransform(cache_size=1)
    x = shunt.tensor([20.0])
    assert transform.inv(transform(x)) is x


@pytest.mark.parametrize(
    "make",
    [
        lambda c: c.real,
        lambda c: c.positive,
        lambda c: c.unit_interval,
        lambda c: c.interval(-1.0, 3.0),
        lambda c: c.less_than(2.0),
        lambda c: c.greater_than(1.0),
        lambda c: c.simplex,
        lambda c: c.independent(c.positive, 1),
    ],
)
def test_constraints_have_transforms(make):
    for name in ("biject_to", "transform_to"):
        ours, theirs = (getattr(D, name)(make(D.constraints)) for D in (OURS, THEIRS))
        assert_equal(lambda: ours(t(shunt, -0.3, 0.9)), lambda: theirs(t(torch, -0.3, 0.9)), name)
        assert bool(make(OURS.constraints).check(ours(t(shunt, -0.3, 0.9))).all())


def test_constraints_check_as_pytorchs():
    for value in ([0.0, 1.0], [0.5, 0.5], [-1.0, 3.0], [float("nan"), 1.0]):
        for name in (
            "boolean",
            "one_hot",
            "real",
            "positive",
            "nonnegative",
            "unit_interval",
            "simplex",
            "nonnegative_integer",
            "positive_integer",
            "real_vector",
        ):
            assert_equal(
                lambda: getattr(OURS.constraints, name).check(t(shunt, *value)),
                lambda: getattr(THEIRS.constraints, name).check(t(torch, *value)),
                name,
            )
    for matrix in (
        [[1.0, 0.0], [2.0, 1.0]],
        [[2.0, 1.0], [1.0, 2.0]],
        [[1.0, 2.0], [2.0, 1.0]],
        [[1.0, 1.0], [1.0, 1.0]],
    ):
        for name in (
            "lower_triangular",
            "lower_cholesky",
            "square",
            "symmetric",
            "positive_definite",
            "positive_semidefinite",
        ):
            assert_equal(
                lambda: getattr(OURS.constraints, name).check(shunt.tensor(matrix)),
                lambda: getattr(THEIRS.constraints, name).check(torch.tensor(matrix)),
                f"{name} {matrix}",
            )


def test_vmap_and_compile():
    from shunt.func import grad, vmap

    log_prob = lambda loc, x: OURS.Normal(loc, 1.0, validate_args=False).log_prob(x)  # noqa: E731
    loc, x = shunt.randn(5), shunt.randn(5)
    assert shunt.allclose(vmap(grad(log_prob))(loc, x), x - loc)
    compiled = shunt.compile(log_prob)
    for _ in range(4):
        assert shunt.equal(compiled(loc, x), log_prob(loc, x))
    assert hits(compiled) >= 2


class Shifted(OURS.transforms.Transform):
    """A transform with an argument, and without with_cache()."""

    def __init__(self, by):
        super().__init__()
        self.by = by


def test_messages_say_what_was_expected_and_got():
    normal, transforms = OURS.Normal(shunt.zeros(3), 1.0), OURS.transforms
    with pytest.raises(ValueError, match="mixture_distribution to be a Categorical, got Normal"):
        OURS.MixtureSameFamily(normal, normal)
    with pytest.raises(ValueError, match="component_distribution to be a Distribution, got int"):
        OURS.MixtureSameFamily(OURS.Categorical(shunt.ones(3)), 1)
    with pytest.raises(ValueError, match="as the mixture has, 2, got 3"):
        OURS.MixtureSameFamily(OURS.Categorical(shunt.ones(2)), normal)
    with pytest.raises(ValueError, match=r"batch shape \(5,\) and the components' \(4,\)"):
        OURS.MixtureSameFamily(OURS.Categorical(shunt.ones(5, 3)), OURS.Normal(shunt.zeros(4, 3), 1.0))
    vectors = transforms.IndependentTransform(transforms.ExpTransform(), 2)
    for call in (vectors, vectors.inv):
        with pytest.raises(ValueError, match="at least 2 dimensions, got 1"):
            call(shunt.ones(3))
    with pytest.raises(NotImplementedError, match="Shifted .* with_cache"):
        Shifted(1).with_cache()
    assert transforms.ExpTransform().with_cache()._cache_size == 1
