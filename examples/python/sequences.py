"""Modules for sequences of different lengths, a layer whose weight is kept orthogonal, and distributions."""

import shunt
from shunt import nn
from shunt.distributions import Categorical, Normal, kl_divergence
from shunt.nn.utils import parametrizations, rnn


class Parity(nn.Module):
    """Whether a sequence of bits has an even number of ones, for sequences of any length."""

    def __init__(self, width=16):
        super().__init__()
        self.gru = nn.GRU(1, width)
        self.mix = parametrizations.orthogonal(nn.Linear(width, width))
        self.out = nn.Linear(width, 2)

    def forward(self, sequences):
        packed = rnn.pack_sequence(sequences, enforce_sorted=False)
        _, state = self.gru(packed)
        return Categorical(logits=self.out(self.mix(state[0]).relu()))


def main():
    shunt.manual_seed(0)
    model = Parity()
    optimizer = shunt.optim.Adam(model.parameters(), lr=0.02)
    bits = [shunt.randint(0, 2, (length,)).float() for length in (1, 2, 3, 4) for _ in range(16)]
    labels = shunt.stack([b.sum() % 2 for b in bits]).long()
    sequences = [b.unsqueeze(1) for b in bits]
    for _ in range(150):
        optimizer.zero_grad()
        loss = -model(sequences).log_prob(labels).mean()
        loss.backward()
        optimizer.step()
    right = (model(sequences).probs.argmax(1) == labels).float().mean().item()
    print(f"64 sequences of 1 to 4 bits: {right:.0%} right")
    weight = model.mix.weight
    distance = (weight @ weight.T - shunt.eye(16)).abs().max().item()
    print("the weight is", "still orthogonal" if distance < 1e-5 else f"not orthogonal: {distance}")
    apart = kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0)).item()
    print("KL divergence of two normal distributions:", apart)
    assert right > 0.9 and distance < 1e-5 and apart == 0.5


if __name__ == "__main__":
    main()
