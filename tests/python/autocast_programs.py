"""Programs for each name in shunt._autocast.POLICIES. A program is a function of the library and of t(*sizes), which
returns a tensor of the tested dtype."""


def values(L, *sizes):
    """Multiples of 1 / 8 from 1 / 8 to 7 / 8, which every floating-point dtype represents exactly."""
    count = 1
    for n in sizes:
        count *= n
    return ((L.arange(count) % 7 + 1) / 8).reshape(sizes)


def _matrix(L, t):
    return t(2, 2) * 0 + L.tensor([[0.5, 0.0], [0.25, 2.0]]).to(t(1).dtype)


def _signs(L, t, *sizes):
    return t(*sizes) * 0 + 1


def _pad(mode, dims):
    return lambda L, t: L.nn.functional.pad(t(*[3] * (dims + 1)), [1, 1] * dims, mode=mode)


def _unpool(name, dims):
    def program(L, t):
        places = L.tensor([0, 3]).reshape((1, 1, 2, *[1] * (dims - 1)))
        return getattr(L.nn.functional, name)(t(*places.shape), places, 2)

    return program


def _loss(name, make):
    return lambda L, t: getattr(L.nn.functional, name)(*make(L, t))


PROGRAMS = {
    "addbmm": [
        lambda L, t: L.addbmm(t(2, 2), t(3, 2, 4), t(3, 4, 2)),
        lambda L, t: t(2, 2).addbmm(t(3, 2, 4), t(3, 4, 2), beta=2),
    ],
    "addbmm_": [lambda L, t: t(2, 2).addbmm_(t(3, 2, 4), t(3, 4, 2))],
    "adaptive_avg_pool3d": [
        lambda L, t: L.nn.functional.adaptive_avg_pool3d(t(1, 4, 4, 4), 2),
        lambda L, t: L.nn.AdaptiveAvgPool3d(2)(t(1, 4, 4, 4)),
        lambda L, t: L.nn.functional.interpolate(t(1, 1, 4, 4, 4), size=(2, 2, 2), mode="area"),
    ],
    "adaptive_max_pool3d": [
        lambda L, t: L.nn.functional.adaptive_max_pool3d(t(1, 4, 4, 4), 2),
        lambda L, t: L.nn.functional.adaptive_max_pool3d(t(1, 4, 4, 4), 2, return_indices=True)[0],
    ],
    "attention_scores": [
        lambda L, t: L.nn.functional.multi_head_attention_forward(
            t(2, 1, 4), t(2, 1, 4), t(2, 1, 4), 4, 2, t(12, 4), None, None, None, False, 0.0, t(4, 4), None,
            attn_mask=t(2, 2))[1]
    ],
    "avg_pool3d": [
        lambda L, t: L.nn.functional.local_response_norm(t(1, 4, 3, 3), 2),
        lambda L, t: L.nn.functional.avg_pool3d(t(1, 4, 4, 4), 2),
        lambda L, t: L.nn.functional.lp_pool3d(t(1, 4, 4, 4), 2, 2),
    ],
    "bilinear": [
        lambda L, t: L.nn.functional.bilinear(t(3, 4), t(3, 4), t(2, 4, 4)),
        lambda L, t: L.bilinear(t(3, 4), t(3, 4), t(2, 4, 4), t(2)),
    ],
    "cdist": [lambda L, t: L.cdist(t(3, 4), t(2, 4) + 1), lambda L, t: L.cdist(x1=t(3, 4), x2=t(2, 4) + 1, p=1.0)],
    "cholesky_inverse": [
        lambda L, t: L.cholesky_inverse(_matrix(L, t)),
        lambda L, t: _matrix(L, t).cholesky_inverse(),
    ],
    "cholesky_solve": [
        lambda L, t: L.cholesky_solve(t(2, 1), _matrix(L, t)),
        lambda L, t: t(2, 1).cholesky_solve(_matrix(L, t)),
    ],
    "conv3d": [
        lambda L, t: L.nn.functional.conv3d(t(1, 2, 3, 3, 3), t(2, 2, 2, 2, 2), t(2)),
        lambda L, t: L.conv3d(t(1, 2, 3, 3, 3), t(2, 2, 2, 2, 2), padding=1),
    ],
    "conv_transpose3d": [
        lambda L, t: L.nn.functional.conv_transpose3d(t(1, 2, 2, 2, 2), t(2, 2, 2, 2, 2), t(2)),
        lambda L, t: L.conv_transpose3d(t(1, 2, 2, 2, 2), t(2, 2, 2, 2, 2)),
    ],
    "cosine_embedding_loss": [_loss("cosine_embedding_loss", lambda L, t: (t(2, 3), t(2, 3) + 1, L.ones(2)))],
    "ctc_loss": [
        lambda L, t: L.nn.functional.ctc_loss(-t(4, 1, 3), L.tensor([[1, 2]]), L.tensor([4]), L.tensor([2])),
        lambda L, t: L.nn.functional.ctc_loss(-t(4, 1, 3), L.tensor([[1, 2]]), (4,), (2,)),
    ],
    "dot": [
        lambda L, t: L.inner(t(4), t(4)),
        lambda L, t: t(4).inner(t(4)),
        lambda L, t: L.tensordot(t(2, 3), t(2, 3), 2),
    ],
    "fractional_max_pool2d": [
        lambda L, t: L.nn.functional.fractional_max_pool2d(t(1, 1, 5, 5), 2, 3, _random_samples=t(1, 1, 2))],
    "fractional_max_pool3d": [
        lambda L, t: L.nn.functional.fractional_max_pool3d(t(1, 1, 4, 4, 4), 2, 2, _random_samples=t(1, 1, 3))],
    "grid_sampler": [
        lambda L, t: L.nn.functional.grid_sample(t(1, 1, 3, 3), t(1, 2, 2, 2), align_corners=False),
        lambda L, t: L.grid_sampler(t(1, 1, 3, 3), t(1, 2, 2, 2), 0, 0, True),
    ],
    "hinge_embedding_loss": [_loss("hinge_embedding_loss", lambda L, t: (t(4), _signs(L, t, 4)))],
    "index_copy": [
        lambda L, t: L.index_copy(t(3, 2), 0, L.tensor([1]), t(1, 2)),
        lambda L, t: t(3, 2).index_copy(0, L.tensor([1]), t(1, 2)),
    ],
    "linalg_vecdot": [lambda L, t: L.linalg.vecdot(t(4), t(4)), lambda L, t: L.linalg.vecdot(t(2, 3), t(2, 3), dim=0)],
    "margin_ranking_loss": [_loss("margin_ranking_loss", lambda L, t: (t(4), t(4) * 2, _signs(L, t, 4)))],
    "max_pool3d": [
        lambda L, t: L.nn.functional.max_pool3d(t(1, 4, 4, 4), 2),
        lambda L, t: L.max_pool3d(t(1, 4, 4, 4), 2),
        lambda L, t: L.nn.MaxPool3d(2)(t(1, 4, 4, 4)),
    ],
    "max_unpool2d": [_unpool("max_unpool1d", 1), _unpool("max_unpool2d", 2)],
    "max_unpool3d": [_unpool("max_unpool3d", 3)],
    "multi_margin_loss": [_loss("multi_margin_loss", lambda L, t: (t(2, 3), L.tensor([0, 2])))],
    "multilabel_margin_loss": [
        _loss("multilabel_margin_loss", lambda L, t: (t(2, 3), L.tensor([[0, -1, 1], [2, 1, -1]])))],
    "multilabel_soft_margin_loss": [_loss("multilabel_soft_margin_loss", lambda L, t: (t(2, 3), _signs(L, t, 2, 3)))],
    "nanquantile": [lambda L, t: L.nanquantile(t(5), 0.3), lambda L, t: t(2, 3).nanquantile(t(2), dim=1)],
    "poisson_nll_loss": [_loss("poisson_nll_loss", lambda L, t: (t(4), t(4)))],
    "prelu": [
        lambda L, t: L.nn.functional.prelu(t(4) - 0.5, t(1)),
        lambda L, t: L.prelu(t(4) - 0.5, t(1)),
        lambda L, t: (t(4) - 0.5).prelu(t(1)),
    ],
    "quantile": [lambda L, t: L.quantile(t(5), 0.3), lambda L, t: t(2, 3).quantile(t(2), dim=1)],
    "reflection_pad": [
        _pad("reflect", 1), _pad("reflect", 2), lambda L, t: L.nn.ReflectionPad2d(1)(t(1, 3, 3))],
    "replication_pad": [
        _pad("replicate", 1), _pad("replicate", 2), _pad("replicate", 3),
        lambda L, t: L.nn.ReplicationPad3d(1)(t(1, 3, 3, 3))],
    "soft_margin_loss": [
        _loss("soft_margin_loss", lambda L, t: (t(4), _signs(L, t, 4))),
        lambda L, t: L.nn.SoftMarginLoss()(t(4), _signs(L, t, 4)),
    ],
    "triplet_margin_loss": [
        _loss("triplet_margin_loss", lambda L, t: (t(2, 3), t(2, 3) * 2, t(2, 3) + 1)),
        lambda L, t: L.triplet_margin_loss(t(2, 3), t(2, 3) * 2, t(2, 3) + 1, reduction=1),
    ],
    "weighted_loss": [
        lambda L, t: L.nn.functional.l1_loss(t(4), t(4) * 2, weight=t(4)),
        lambda L, t: L.nn.functional.mse_loss(t(4), t(4) * 2, weight=t(4)),
    ],
}

# Programs of functions without a policy that are close to functions with one.
UNCAST = [
    lambda L, t: L.nn.functional.local_response_norm(t(1, 4, 3), 2),
    _pad("reflect", 3),
    _pad("circular", 2),
    lambda L, t: L.nn.functional.max_pool3d(t(1, 4, 4, 4), 2, return_indices=True)[0],
    lambda L, t: L.nn.functional.pad(t(3, 3), (1, 1)),
    lambda L, t: L.nn.functional.avg_pool2d(t(1, 4, 4), 2),
    lambda L, t: L.nn.functional.pairwise_distance(t(2, 3), t(2, 3) * 2),
    lambda L, t: L.nn.functional.triplet_margin_with_distance_loss(t(2, 3), t(2, 3) * 2, t(2, 3) + 1),
    lambda L, t: L.nn.functional.gaussian_nll_loss(t(4), t(4), t(4)),
]
