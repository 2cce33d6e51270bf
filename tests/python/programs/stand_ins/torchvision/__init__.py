"""What the programs use of torchvision, over data that is drawn."""

from torchvision import datasets, transforms, utils
