"""Recurrent layers and cells: RNN, LSTM, GRU, composed of linear layers and activations, step by step."""

import math

from shunt import _C, _operators
from shunt._autocast import in_lower_precision
from shunt._calls import passes_on_to
from shunt._C import bfloat16, float32
from shunt._tensor import Tensor
from shunt.nn import functional as F
from shunt.nn import init
from shunt.nn.modules._settings import check_sizes
from shunt.nn.modules.module import Module
from shunt.nn.parameter import Parameter


def _rnn_step(activation):
    def step(x, state, w_hh, b_hh):
        (h,) = state
        h = activation(x + F.linear(h, w_hh, b_hh))
        return h, (h,)

    return step


def _lstm_step(x, state, w_hh, b_hh):
    h, c = state
    i, f, g, o = (x + F.linear(h, w_hh, b_hh)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return h, (h, c)


def _gru_step(x, state, w_hh, b_hh):
    (h,) = state
    x_r, x_z, x_n = x.chunk(3, -1)
    h_r, h_z, h_n = F.linear(h, w_hh, b_hh).chunk(3, -1)
    r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
    n = (x_n + r * h_n).tanh()
    h = n + z * (h - n)
    return h, (h,)


_STEPS = {
    "RNN_TANH": (_rnn_step(lambda x: x.tanh()), 1, 1),
    "RNN_RELU": (_rnn_step(lambda x: x.relu()), 1, 1),
    "LSTM": (_lstm_step, 4, 2),
    "GRU": (_gru_step, 3, 1),
}  # the step, its gates, its states


def _one_step(step, x, state, weights):
    """A step of a layer from its input's part x; weights are the matrix and bias of the state, and the projection or
    None."""
    w_hh, b_hh, w_hr = weights
    h, state = step(x, state, w_hh, b_hh)
    if w_hr is None:
        return h, state
    h = F.linear(h, w_hr)
    return h, (h, *state[1:])


def _whole_pass(step, steps, state, weights, backwards):
    """A layer over the steps (L, N, gates * hidden_size) of sequences of one length: the outputs and the last state."""
    steps, found = steps.unbind(0), []
    for x in reversed(steps) if backwards else steps:
        h, state = _one_step(step, x, state, weights)
        found.append(h)
    return _operators.stack(found[::-1] if backwards else found), state


def _packed_pass(step, steps, batch_sizes, state, weights, backwards):
    """The same over packed steps (elements, gates * hidden_size): batch_sizes sequences go on at each step, the
    longest first."""
    steps, found = steps.split(batch_sizes), []
    if backwards:
        # Shorter sequences join where they end: behind those that are longer.
        first, state = state, tuple(s[: batch_sizes[-1]] for s in state)
        for x, size in zip(reversed(steps), reversed(batch_sizes)):
            if state[0].size(0) < size:
                state = tuple(_operators.cat([s, f[s.size(0) : size]]) for s, f in zip(state, first))
            h, state = _one_step(step, x, state, weights)
            found.append(h)
        return _operators.cat(found[::-1]), state
    ended = []  # the states of sequences that have ended, the shortest first
    for x, size in zip(steps, batch_sizes):
        if state[0].size(0) > size:
            ended.append(tuple(s[size:] for s in state))
            state = tuple(s[:size] for s in state)
        h, state = _one_step(step, x, state, weights)
        found.append(h)
    if ended:
        state = tuple(_operators.cat([s, *(e[place] for e in reversed(ended))]) for place, s in enumerate(state))
    return _operators.cat(found), state


def _draw(module, hidden_size):
    bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0
    for parameter in module.parameters():
        init.uniform_(parameter, -bound, bound)


class RNNBase(Module):
    """What RNN, LSTM and GRU share: layers of steps, in one or both directions."""

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        check_sizes(type(self).__name__, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        if proj_size and mode != "LSTM":
            raise ValueError(
                f"{type(self).__name__}(): expected proj_size=0, as only an LSTM projects its states, got {proj_size}"
            )
        if proj_size < 0 or proj_size >= hidden_size > 0:
            raise ValueError(
                f"{type(self).__name__}(): expected proj_size of at least 0 and below hidden_size, {hidden_size}, got "
                f"{proj_size}"
            )
        for name, value in (("hidden_size", hidden_size), ("num_layers", num_layers)):
            if value <= 0:
                raise ValueError(f"{type(self).__name__}(): expected {name} greater than 0, got {value}")
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                f"{type(self).__name__}(): expected dropout to be a probability from 0 to 1, got {dropout}"
            )
        if dropout > 0 and num_layers == 1:
            _C._warn(f"{type(self).__name__}(): dropout={dropout} does nothing where num_layers is 1: it comes after each "
                     "layer but the last")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, float(dropout), bidirectional
        self.proj_size = proj_size
        gates, width_out = _STEPS[mode][1], proj_size or hidden_size
        options = {"device": device, "dtype": dtype}
        for layer, suffix in self._passes():
            width = input_size if layer == 0 else width_out * self._directions
            shapes = {"weight_ih": (gates * hidden_size, width), "weight_hh": (gates * hidden_size, width_out)}
            if bias:
                shapes.update(bias_ih=(gates * hidden_size,), bias_hh=(gates * hidden_size,))
            if proj_size:
                shapes.update(weight_hr=(proj_size, hidden_size))
            for name, shape in shapes.items():
                setattr(self, f"{name}_l{layer}{suffix}", Parameter(_operators.empty(shape, **options)))
        self.reset_parameters()

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    def _passes(self):
        return [(layer, suffix) for layer in range(self.num_layers) for suffix in ("", "_reverse")[: self._directions]]

    def reset_parameters(self):
        """Draws the parameters again: uniform within 1 / sqrt(hidden_size)."""
        _draw(self, self.hidden_size)

    def flatten_parameters(self):
        """Does nothing: the parameters stay where they are."""

    @property
    def all_weights(self):
        """The parameters, a list for each layer and direction."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        found = [
            [self._parameters.get(f"{name}_l{layer}{suffix}") for name in names] for layer, suffix in self._passes()
        ]
        return [[weight for weight in weights if weight is not None] for weights in found]

    def _weights(self, layer, suffix):
        # By getattr, since weights may be parametrized.
        return [
            getattr(self, f"{name}_l{layer}{suffix}") if wanted else None
            for name, wanted in (
                ("weight_ih", True),
                ("weight_hh", True),
                ("bias_ih", self.bias),
                ("bias_hh", self.bias),
                ("weight_hr", self.proj_size),
            )
        ]

    def _first_states(self, x, batch, given, batched):
        num_states = _STEPS[self.mode][2]
        lead = (self.num_layers * self._directions, batch)
        shapes = [(*lead, self.proj_size or self.hidden_size), (*lead, self.hidden_size)][:num_states]
        if given is None:
            return tuple(_operators.zeros(shape, dtype=x.dtype, device=x.device) for shape in shapes)
        states = given if isinstance(given, (tuple, list)) else (given,)
        if len(states) != num_states:
            raise RuntimeError(f"{self.mode}: expected {num_states} states, got {len(states)}")
        states = tuple(state if batched else state.unsqueeze(1) for state in states)
        for state, shape, name in zip(states, shapes, ("hidden[0]", "hidden[1]") if num_states > 1 else ("hidden",)):
            if tuple(state.shape) != shape:
                raise RuntimeError(f"Expected {name} size {shape}, got {list(state.shape)}")
        return states

    def _layers(self, x, states, pass_over):
        """All layers, one after the other: the outputs of the last, and the last states of all.

        pass_over(step, steps, state, weights, backwards) is one layer in one direction.
        """
        step, _, num_states = _STEPS[self.mode]
        last = [[] for _ in range(num_states)]
        for place, (layer, suffix) in enumerate(self._passes()):
            if suffix == "":
                outputs, layer_input = [], x
            w_ih, w_hh, b_ih, b_hh, w_hr = self._weights(layer, suffix)
            steps = F.linear(layer_input, w_ih, b_ih)  # of all steps at once: they don't depend on the state
            output, state = pass_over(step, steps, tuple(s[place] for s in states), (w_hh, b_hh, w_hr), bool(suffix))
            outputs.append(output)
            for kept, value in zip(last, state):
                kept.append(value)
            if len(outputs) == self._directions:
                x = outputs[0] if len(outputs) == 1 else _operators.cat(outputs, -1)
                if self.dropout > 0 and layer < self.num_layers - 1:
                    x = F.dropout(x, self.dropout, self.training)
        return x, tuple(_operators.stack(kept) for kept in last)

    def _check_width(self, input):
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{type(self).__name__}: expected input with {self.input_size} features, got {input.shape[-1]}"
            )

    def _forward_packed(self, packed, hx):
        from shunt.nn.utils.rnn import PackedSequence

        data, batch_sizes, order, back = packed
        self._check_width(data)
        sizes = batch_sizes.tolist()
        states = self._first_states(data, sizes[0], hx, True)
        if order is not None and hx is not None:
            states = tuple(state.index_select(1, order) for state in states)

        def pass_over(step, steps, state, weights, backwards):
            return _packed_pass(step, steps, sizes, state, weights, backwards)

        x, results = self._layers(data, states, pass_over)
        if back is not None:
            results = tuple(state.index_select(1, back) for state in results)
        return PackedSequence(x, batch_sizes, order, back), results if len(results) > 1 else results[0]

    def forward(self, input, hx=None):
        if not isinstance(input, Tensor):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: expected input with 2 or 3 dimensions, got {input.dim()}")
        self._check_width(input)
        batched = input.dim() == 3
        x = input if batched else input.unsqueeze(1)
        if batched and self.batch_first:
            x = x.transpose(0, 1)
        x, results = self._layers(x, self._first_states(x, x.shape[1], hx, batched), _whole_pass)
        if self.mode == "LSTM" and not self.proj_size and input.dtype in (float32, bfloat16):
            # PyTorch computes such a layer in one operator, which autocast runs in lower precision.
            x, results = in_lower_precision((x, results))
        if not batched:
            x, results = x.squeeze(1), tuple(r.squeeze(1) for r in results)
        elif self.batch_first:
            x = x.transpose(0, 1)
        return x, results if len(results) > 1 else results[0]

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", proj_size={self.proj_size}" if self.proj_size else ""
        for name, default in (
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0.0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu. Input (L, N, input_size), or (N, L, input_size) with
    batch_first.

    Returns the outputs (L, N, D * hidden_size) and the last states (D * num_layers, N, hidden_size). Of a
    PackedSequence (see
    nn.utils.rnn) the outputs are one, too.
    """

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **kwargs):
        if f"RNN_{nonlinearity.upper()}" not in _STEPS:
            raise ValueError(
                f"{type(self).__name__}(): expected nonlinearity to be 'tanh' or 'relu', got {nonlinearity!r}"
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997). Shapes as RNN's; the state is a pair (h, c).

    proj_size: where given, h is projected to this width (Sak and others 2014).
    """

    @passes_on_to(RNNBase.__init__, 2)
    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units (Cho and others 2014). Shapes as RNN's."""

    @passes_on_to(RNNBase.__init__, 2)
    def __init__(self, *args, **kwargs):
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """What the cells share."""

    def __init__(self, mode, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        check_sizes(type(self).__name__, input_size=input_size, hidden_size=hidden_size)
        self.mode, self.input_size, self.hidden_size, self.bias = mode, input_size, hidden_size, bias
        gates = _STEPS[mode][1]
        options = {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(_operators.empty(gates * hidden_size, input_size, **options))
        self.weight_hh = Parameter(_operators.empty(gates * hidden_size, hidden_size, **options))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(_operators.empty(gates * hidden_size, **options)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters again: uniform within 1 / sqrt(hidden_size)."""
        _draw(self, self.hidden_size)

    def forward(self, input, hx=None):
        step, _, num_states = _STEPS[self.mode]
        if input.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: expected input with 1 or 2 dimensions, got {input.dim()}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{type(self).__name__}: expected input with {self.input_size} features, got {input.shape[-1]}"
            )
        if hx is None:
            zeros = _operators.zeros((*input.shape[:-1], self.hidden_size), dtype=input.dtype, device=input.device)
            hx = (zeros,) * num_states
        state = hx if isinstance(hx, (tuple, list)) else (hx,)
        _, state = step(F.linear(input, self.weight_ih, self.bias_ih), tuple(state), self.weight_hh, self.bias_hh)
        return state if num_states > 1 else state[0]

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """One step of RNN. Input (N, input_size), state and output (N, hidden_size)."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        if f"RNN_{nonlinearity.upper()}" not in _STEPS:
            raise RuntimeError(f"Unknown nonlinearity: {nonlinearity}")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity


class LSTMCell(RNNCellBase):
    """One step of LSTM. Input (N, input_size); states and results (h, c), each (N, hidden_size)."""

    @passes_on_to(RNNCellBase.__init__, 2)
    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)


class GRUCell(RNNCellBase):
    """One step of GRU. Input (N, input_size), state and output (N, hidden_size)."""

    @passes_on_to(RNNCellBase.__init__, 2)
    def __init__(self, *args, **kwargs):
        super().__init__("GRU", *args, **kwargs)
