"""The rows of the table: which program, and how many times faster than eager it has to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Row:
    name: str  # in programs.PROGRAMS
    title: str
    exact: Optional[float] = None  # bars: eager / captured at least
    fast: Optional[float] = None
    most_us: Optional[float] = None  # another bar: the captured call takes at most
    most_recording_us: Optional[float] = None  # the call that records takes at most


ROWS = [
    Row("mlp16_sgd", "MLP 3 x 16, batch 32, SGD with momentum", 10, 15),
    Row("mlp64_sgd", "MLP 3 x 64, batch 32, SGD with momentum", 7, 10),
    Row("mlp16_adam", "MLP 3 x 16, batch 32, fused Adam", 8, 12),
    Row("mlp64_adam", "MLP 3 x 64, batch 32, fused Adam", 6, 9),
    Row("dqn", "DQN update, 4-64-64-2, batch 64", 5, 8),
    Row("ppo", "PPO minibatch step, two 4-64-64, batch 64", 4, 6),
    Row("lstm", "LSTMCell loop, T=8, H=32, batch 4", 5, 10),
    Row("convolution", "convolution net, 8x8 images, batch 32", 2.2, 2.8),
    Row("transformer", "TransformerEncoderLayer, 4x16x64", 2.5, 3),
    Row("policy", "policy MLP 4-32-2, one inference", 2.5, 4.5),
    Row("control", "control loop of 4 steps", 4, 10),
    Row("pendulum", "RK4 pendulum, 256, 10 steps, with gradient", 3, 8),
    Row("nothing", "a call beyond the plan and its guards", most_us=3),
    Row("operators", "recording and planning 500 operators", most_recording_us=60_000),
]
