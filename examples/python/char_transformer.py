"""A small transformer that learns a text by letters, and continues it."""

import shunt
from _options import parse, plot
from shunt import nn

TEXT = ("a dispatcher finds for each call the kernel that serves it. a wrapper does its part and calls what is below. "
        "a guard says what must hold, and a thunk is dropped the moment it is untrue. ") * 4


class Transformer(nn.Module):
    def __init__(self, letters, width=32, heads=4, layers=2, context=32):
        super().__init__()
        self.context = context
        self.letters, self.places = nn.Embedding(letters, width), nn.Embedding(context, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.scores = nn.Linear(width, letters)
        self.register_buffer("hidden", shunt.ones(context, context, dtype=shunt.bool).triu(1), persistent=False)

    def forward(self, text):
        length = text.shape[1]
        x = self.letters(text) + self.places.weight[:length]
        return self.scores(self.layers(x, mask=self.hidden[:length, :length]))


def main():
    options = parse(__doc__, steps=150, batch=16, seed=0)
    shunt.manual_seed(options.seed)
    letters = sorted(set(TEXT))
    text = shunt.tensor([letters.index(c) for c in TEXT])
    model = Transformer(len(letters))
    optimizer = shunt.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step in range(options.steps):
        begins = shunt.randint(len(text) - model.context - 1, (options.batch,)).tolist()
        batch = shunt.stack([text[b:b + model.context + 1] for b in begins])
        scores = model(batch[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0 or step == options.steps - 1:
            print(f"step {step:4}  loss {losses[-1]:.3f}")
    model.eval()
    written = text[:10]
    with shunt.no_grad():
        for _ in range(60):
            scores = model(written[-model.context:].unsqueeze(0))
            written = shunt.cat([written, scores[0, -1].argmax().view(1)])
    print("".join(letters[i] for i in written.tolist()))
    if options.plot:
        plot(options.plot, "Learning a text by letters", "step", "loss", loss=(range(len(losses)), losses))


if __name__ == "__main__":
    main()
