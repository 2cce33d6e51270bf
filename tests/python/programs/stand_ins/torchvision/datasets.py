"""Images of ten classes: each class has a pattern of its own, each image that pattern with noise."""

import numpy
import torch


class MNIST(torch.utils.data.Dataset):
    """Images of 28 x 28 bytes, and numbers from 0 to 9. `root` and `download` are ignored."""

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        numbers = numpy.random.RandomState(17)
        patterns = numbers.uniform(0, 1, (10, 28, 28)) > 0.8
        count = 768 if train else 256
        numbers = numpy.random.RandomState(18 + train)
        self.targets = numbers.randint(0, 10, count)
        noise = numbers.uniform(0, 1, (count, 28, 28))
        self.data = (255 * (0.4 * patterns[self.targets] + 0.6 * noise * noise)).astype(numpy.uint8)
        self.transform = transform

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        image = self.data[index]
        return image if self.transform is None else self.transform(image), int(self.targets[index])
