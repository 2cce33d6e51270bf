"""Pictures of images."""


def save_image(tensor, path, nrow=8):
    """Writes the images, [count, channels, height, width] of numbers from 0 to 1, as one grey picture."""
    pixels = tensor.mul(255).clamp(0, 255).byte().numpy().mean(1).astype("uint8").reshape(-1, tensor.shape[-1])
    with open(path, "wb") as file:
        file.write(b"P5 %d %d 255\n" % pixels.shape[::-1] + pixels.tobytes())
