"""What a file is that isn't an archive of torch.save, for messages."""

_BEGINS = (
    (b"PK\x03\x04", "a zip file whose directory is missing, as of a file that was cut off: write or copy it again"),
    (b"\x93NUMPY", "an array of NumPy's: shunt.from_numpy(numpy.load(file)) reads it"),
    (b"\x1f\x8b", "compressed by gzip: decompress it first"),
    (b"\x89HDF", "an HDF5 file"),
)

# The number that torch.save began files with before 1.6, as pickle writes it.
_OLD_MAGIC = bytes.fromhex("8a0a6cfc9c46f9206aa85019")


def _is_text(first):
    try:
        text = first.decode("ascii")
    except UnicodeDecodeError:
        return False
    return all(c.isprintable() or c in "\t\n\r" for c in text)


def kind_of(first):
    """What the first 64 bytes of a file say it is."""
    if not first:
        return "empty"
    for begin, kind in _BEGINS:
        if first.startswith(begin):
            return kind
    if _OLD_MAGIC in first[:16] or b"ustar" in first:
        return ("in the format that torch.save had before PyTorch 1.6: load it with PyTorch, and save it again")
    if first[0] == 0x80 and len(first) > 1 and first[1] < 6:
        return "a pickle, not an archive that torch.save writes since PyTorch 1.6: pickle.load reads it"
    if len(first) > 9 and int.from_bytes(first[:8], "little") < 1 << 32 and first[8:9] == b"{":
        return "a safetensors file, by its contents: give it a name that ends in .safetensors"
    if _is_text(first):
        return f"a text file, not an archive that torch.save writes; it begins with {first[:20].decode()!r}"
    return "no archive that torch.save writes since PyTorch 1.6"
