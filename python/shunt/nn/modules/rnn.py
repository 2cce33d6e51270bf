"""Recurrent layers and cells: RNN, LSTM, GRU, composed of linear layers and activations, step by step."""

import math

from shunt import _operators
from shunt.nn import functional as F
from shunt.nn import init
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


_STEPS = {"RNN_TANH": (_rnn_step(lambda x: x.tanh()), 1, 1), "RNN_RELU": (_rnn_step(lambda x: x.relu()), 1, 1),
          "LSTM": (_lstm_step, 4, 2), "GRU": (_gru_step, 3, 1)}  # the step, its gates, its states


def _draw(module, hidden_size):
    bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0
    for parameter in module.parameters():
        init.uniform_(parameter, -bound, bound)


class RNNBase(Module):
    """What RNN, LSTM and GRU share: layers of steps, in one or both directions."""

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):
        super().__init__()
        if proj_size:
            raise NotImplementedError(f"{type(self).__name__}: proj_size={proj_size} is not implemented in Shunt")
        for name, value in (("hidden_size", hidden_size), ("num_layers", num_layers)):
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, float(dropout), bidirectional
        self.proj_size = proj_size
        gates = _STEPS[mode][1]
        options = {"device": device, "dtype": dtype}
        for layer, suffix in self._passes():
            width = input_size if layer == 0 else hidden_size * self._directions
            shapes = {"weight_ih": (gates * hidden_size, width), "weight_hh": (gates * hidden_size, hidden_size)}
            if bias:
                shapes.update(bias_ih=(gates * hidden_size,), bias_hh=(gates * hidden_size,))
            for name, shape in shapes.items():
                setattr(self, f"{name}_l{layer}{suffix}", Parameter(_operators.empty(shape, **options)))
        self.reset_parameters()

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    def _passes(self):
        return [(layer, suffix) for layer in range(self.num_layers) for suffix in ("", "_reverse")[:self._directions]]

    def reset_parameters(self):
        """Draws the parameters again: uniform within 1 / sqrt(hidden_size)."""
        _draw(self, self.hidden_size)

    def flatten_parameters(self):
        """Does nothing: the parameters stay where they are."""

    def _weights(self, layer, suffix):
        names = ("weight_ih", "weight_hh") + (("bias_ih", "bias_hh") if self.bias else ())
        weights = [getattr(self, f"{name}_l{layer}{suffix}") for name in names]
        return weights if self.bias else [*weights, None, None]

    def _first_states(self, x, given, batched):
        num_states = _STEPS[self.mode][2]
        shape = (self.num_layers * self._directions, x.shape[1], self.hidden_size)
        if given is None:
            zeros = _operators.zeros(shape, dtype=x.dtype, device=x.device)
            return (zeros,) * num_states
        states = given if isinstance(given, (tuple, list)) else (given,)
        if len(states) != num_states:
            raise RuntimeError(f"{self.mode}: expected {num_states} states, got {len(states)}")
        states = tuple(state if batched else state.unsqueeze(1) for state in states)
        for state in states:
            if tuple(state.shape) != shape:
                raise RuntimeError(f"Expected hidden size {shape}, got {list(state.shape)}")
        return states

    def forward(self, input, hx=None):
        if input.dim() not in (2, 3):
            raise ValueError(f"{self.mode}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}")
        batched = input.dim() == 3
        x = input if batched else input.unsqueeze(1)
        if batched and self.batch_first:
            x = x.transpose(0, 1)
        states = self._first_states(x, hx, batched)
        step, _, num_states = _STEPS[self.mode]
        last = [[] for _ in range(num_states)]
        for place, (layer, suffix) in enumerate(self._passes()):
            if suffix == "":
                outputs, layer_input = [], x
            w_ih, w_hh, b_ih, b_hh = self._weights(layer, suffix)
            state = tuple(s[place] for s in states)
            steps = F.linear(layer_input, w_ih, b_ih).unbind(0)  # of all steps at once: they don't depend on the state
            found = []
            for one in reversed(steps) if suffix else steps:
                h, state = step(one, state, w_hh, b_hh)
                found.append(h)
            outputs.append(_operators.stack(found[::-1] if suffix else found))
            for kept, value in zip(last, state):
                kept.append(value)
            if len(outputs) == self._directions:
                x = outputs[0] if len(outputs) == 1 else _operators.cat(outputs, -1)
                if self.dropout > 0 and layer < self.num_layers - 1:
                    x = F.dropout(x, self.dropout, self.training)
        results = tuple(_operators.stack(kept) for kept in last)
        if not batched:
            x, results = x.squeeze(1), tuple(r.squeeze(1) for r in results)
        elif self.batch_first:
            x = x.transpose(0, 1)
        return x, results if num_states > 1 else results[0]

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0.0), ("bidirectional", False)):
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu. Input (L, N, input_size), or (N, L, input_size) with batch_first.

    Returns the outputs (L, N, D * hidden_size) and the last states (D * num_layers, N, hidden_size).
    """

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **kwargs):
        if f"RNN_{nonlinearity.upper()}" not in _STEPS:
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997). Shapes as RNN's; the state is a pair (h, c)."""

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units (Cho and others 2014). Shapes as RNN's."""

    def __init__(self, *args, **kwargs):
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """What the cells share."""

    def __init__(self, mode, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
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
            raise ValueError(f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.shape[-1]} expected {self.input_size}")
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

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)


class GRUCell(RNNCellBase):
    """One step of GRU. Input (N, input_size), state and output (N, hidden_size)."""

    def __init__(self, *args, **kwargs):
        super().__init__("GRU", *args, **kwargs)
