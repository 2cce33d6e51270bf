"""Files that NumPy and the safetensors package write, for Shunt to read, and the other way round.

  exchange.py write FOLDER   writes files of every dtype, shape, order and version; good-* and refused-*
  exchange.py check FOLDER   reads what files_exchange has written there
Both print how many arrays there were. What an array holds follows from its dtype and shape: expected().
"""
import io
import os
import sys
import zipfile

import numpy as np
import safetensors
import safetensors.numpy

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
SHAPES = [(), (0,), (7,), (2, 3), (3, 0, 2), (2, 3, 4), (1, 1, 1, 1, 5), (200, 300)]
METADATA = {"format": "np", "größe": 'a "quoted"\n日本語', "": ""}


def expected(dtype, shape):
    i = np.arange(int(np.prod(shape)), dtype=np.int64) * 37 % 101
    if dtype == "bool":
        return (i % 3 == 0).reshape(shape)
    if dtype.startswith("float"):
        return ((i - 50) / 4).astype(dtype).reshape(shape)
    return (i if dtype == "uint8" else i - 50).astype(dtype).reshape(shape)


def bfloat16_bytes(shape):
    return (np.ascontiguousarray(expected("float32", shape)).view("<u4") >> 16).astype("<u2").tobytes()


def arrays():
    return {f"{d} {s}": expected(d, s) for d in DTYPES for s in SHAPES}


def write_safetensors(folder):
    safetensors.numpy.save_file(arrays(), f"{folder}/good-all.safetensors", metadata=METADATA)
    safetensors.numpy.save_file({"größe": expected("int16", (2, 3))}, f"{folder}/good-name.safetensors")
    safetensors.numpy.save_file({}, f"{folder}/good-none.safetensors")
    raw = [np.frombuffer(bfloat16_bytes(s) + b"\0", np.uint8).copy() for s in SHAPES]
    specs = {
        f"bfloat16 {s}": safetensors.TensorSpec(
            dtype="bfloat16", shape=s, data_ptr=r.ctypes.data, data_len=r.nbytes - 1)
        for s, r in zip(SHAPES, raw)
    }
    safetensors.serialize_file(specs, f"{folder}/good-bfloat16.safetensors")
    for dtype in ["uint16", "uint32", "uint64"]:
        safetensors.numpy.save_file({"x": np.zeros(3, dtype)}, f"{folder}/refused-{dtype}.safetensors")
    return len(arrays()) + 1 + len(SHAPES)


def write_npy(folder):
    count = 0
    for d in DTYPES:
        for s in SHAPES[:-2] + [(20, 30)]:
            for order in "CF":
                for byte_order in "<>":
                    version = [(1, 0), (2, 0), (3, 0)][count % 3]
                    a = np.array(expected(d, s), np.dtype(d).newbyteorder(byte_order), order=order)
                    with open(f"{folder}/good-{count}.npy", "wb") as f:
                        np.lib.format.write_array(f, a, version=version)
                    count += 1
    refused = {"uint16": np.zeros(2, "u2"), "uint64": np.zeros(2, "u8"), "complex": np.zeros(2, "c8"),
               "text": np.array(["a"]), "bytes": np.array([b"a"]), "time": np.zeros(2, "M8[s]"),
               "struct": np.zeros(2, [("x", "f4")]), "object": np.array([None]), "void": np.zeros(2, "V2"),
               "long": np.zeros(2, np.longdouble)}
    for name, a in refused.items():
        np.save(f"{folder}/refused-{name}.npy", a, allow_pickle=True)
    with open(f"{folder}/refused-two.npy", "wb") as f:
        np.save(f, np.zeros(2))
        np.save(f, np.zeros(2))
    return count


def write_npz(folder):
    np.savez(f"{folder}/good-stored.npz", **arrays())
    np.savez_compressed(f"{folder}/good-deflated.npz", **arrays())
    np.savez(f"{folder}/good-fortran.npz", **{f"größe/{k}": np.asfortranarray(a) for k, a in arrays().items()})
    np.savez(f"{folder}/good-none.npz")

    class Stream(io.RawIOBase):  # that can't be rewound, as a pipe
        def __init__(self, path):
            self.file = open(path, "wb")

        def writable(self):
            return True

        def write(self, data):
            return self.file.write(data)

        def close(self):
            self.file.close()
            super().close()

    for name, save in [("stream", np.savez), ("deflated-stream", np.savez_compressed)]:
        stream = Stream(f"{folder}/good-{name}.npz")
        save(stream, **arrays())
        stream.close()
    # Added to, and without NumPy's zip64 fields.
    with zipfile.ZipFile(f"{folder}/good-added.npz", "w", zipfile.ZIP_DEFLATED) as z:
        z.comment = b"a comment"
    for d in DTYPES:
        data = io.BytesIO()
        np.save(data, expected(d, (2, 3)))
        with zipfile.ZipFile(f"{folder}/good-added.npz", "a") as z:
            z.writestr(f"{d}.npy", data.getvalue())
    with zipfile.ZipFile(f"{folder}/refused-lzma.npz", "w", zipfile.ZIP_LZMA) as z:
        z.writestr("x.npy", data.getvalue())
    with zipfile.ZipFile(f"{folder}/refused-text.npz", "w") as z:
        z.writestr("x.txt", "text")
    return 5 * len(arrays()) + len(DTYPES)


def same(a, name):
    want = expected(a.dtype.name, a.shape)
    assert a.dtype == want.dtype and a.tobytes() == want.tobytes(), f"{name}: {a.dtype} {a.shape}"
    return 1


def check(folder):
    count = 0
    for file in sorted(os.listdir(folder)):
        path = f"{folder}/{file}"
        if file.endswith(".npy"):
            count += same(np.load(path, allow_pickle=False), path)
        elif file.endswith(".npz"):
            assert zipfile.ZipFile(path).testzip() is None, path
            with np.load(path, allow_pickle=False) as z:
                count += sum(same(z[name], name) for name in z.files)
        else:
            with open(path, "rb") as f:
                entries = safetensors.deserialize(f.read())
            for name, e in entries:
                if e["dtype"] == "BF16":
                    assert bytes(e["data"]) == bfloat16_bytes(tuple(e["shape"])), name
                    count += 1
            others = [name for name, e in entries if e["dtype"] != "BF16"]
            with safetensors.safe_open(path, framework="np") as f:
                assert (f.metadata() or {}) in [METADATA, {}], f.metadata()
                count += sum(same(f.get_tensor(name), name) for name in others)
    return count


def write(folder):
    return write_safetensors(folder) + write_npy(folder) + write_npz(folder)


print({"write": write, "check": check}[sys.argv[1]](sys.argv[2]))
