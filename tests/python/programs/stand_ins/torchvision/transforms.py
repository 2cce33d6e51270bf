"""Transforms of images."""

import torch


class Compose:
    """One after the other."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image):
        for transform in self.transforms:
            image = transform(image)
        return image


class ToTensor:
    """A tensor [1, height, width] of numbers from 0 to 1."""

    def __call__(self, image):
        return torch.from_numpy(image).to(torch.get_default_dtype()).div(255).unsqueeze(0)


class Normalize:
    """Subtracts the mean of each channel and divides by its deviation."""

    def __init__(self, mean, std):
        self.mean, self.std = (torch.tensor(values).view(-1, 1, 1) for values in (mean, std))

    def __call__(self, image):
        return image.sub(self.mean).div(self.std)
