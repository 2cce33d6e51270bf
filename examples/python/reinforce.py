"""Teaches a policy to balance a pole on a cart, by REINFORCE (Williams 1992). The environment is in this script."""

import math

import shunt
from _options import parse, plot
from shunt import nn


class CartPole:
    """The cart and pole of Barto, Sutton and Anderson (1983), a step 0.02 s. The state: place, speed, angle, its
    speed."""

    def reset(self):
        self.state = shunt.empty(4).uniform_(-0.05, 0.05)
        return self.state

    def step(self, push):
        """One step with a push to the right (1) or to the left (0): the state, and whether the pole has fallen."""
        place, speed, angle, turn = self.state.tolist()
        force = 10.0 if push else -10.0
        sine, cosine = math.sin(angle), math.cos(angle)
        common = (force + 0.05 * turn * turn * sine) / 1.1
        turning = (9.8 * sine - cosine * common) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1))
        pushing = common - 0.05 * turning * cosine / 1.1
        self.state = shunt.tensor([place + 0.02 * speed, speed + 0.02 * pushing, angle + 0.02 * turn,
                                   turn + 0.02 * turning])
        place, _, angle, _ = self.state.tolist()
        return self.state, abs(place) > 2.4 or abs(angle) > math.radians(12)


def play(environment, policy, longest):
    """One game: the logarithms of the probabilities of what was done, and its length."""
    state, logs = environment.reset(), []
    for length in range(1, longest + 1):
        log_probabilities = shunt.log_softmax(policy(state), -1)
        action = int(shunt.rand(()).item() > log_probabilities[0].exp().item())
        logs.append(log_probabilities[action])
        state, fallen = environment.step(action)
        if fallen:
            break
    return shunt.stack(logs), length


def returns_of(length, discount=0.99):
    """The discounted number of steps that come after each."""
    values, later = [], 0.0
    for _ in range(length):
        later = 1.0 + discount * later
        values.append(later)
    return shunt.tensor(values[::-1])


def main():
    options = parse(__doc__, games=300, together=10, longest=300, seed=1)
    shunt.manual_seed(options.seed)
    policy = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = shunt.optim.Adam(policy.parameters(), lr=0.02)
    environment, lengths, logs, returns = CartPole(), [], [], []
    for game in range(1, options.games + 1):
        log_probabilities, length = play(environment, policy, options.longest)
        lengths.append(length)
        logs.append(log_probabilities)
        returns.append(returns_of(length))
        if game % options.together == 0:
            # What was better than the mean of these games is made more probable, what was worse less.
            gained = shunt.cat(returns)
            loss = -(shunt.cat(logs) * (gained - gained.mean()) / (gained.std() + 1e-6)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            logs, returns = [], []
        if game % 50 == 0:
            print(f"games {game - 49:3} to {game:3}: {sum(lengths[-50:]) / 50:6.1f} steps on average")
    if options.plot:
        plot(options.plot, "REINFORCE", "game", "steps", steps=(range(len(lengths)), lengths))


if __name__ == "__main__":
    main()
