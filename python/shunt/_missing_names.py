"""PyTorch's names that Shunt doesn't have on purpose, by families: what a lookup of one says."""

_FAMILIES = (
    ("Shunt has no FFT", ("fft", "stft", "istft", "signal")),
    ("Shunt has no singular values, eigenvalues, QR or LU",
     ("svd", "svd_lowrank", "pca_lowrank", "symeig", "eig", "qr", "geqrf", "ormqr", "orgqr", "lstsq", "lu", "lu_solve",
      "lu_unpack", "lobpcg", "pinverse", "matrix_exp", "matrix_rank", "linalg.cond", "linalg.eig", "linalg.eigh",
      "linalg.eigvals", "linalg.eigvalsh", "linalg.householder_product", "linalg.ldl_factor", "linalg.ldl_factor_ex",
      "linalg.ldl_solve", "linalg.lstsq", "linalg.lu", "linalg.lu_factor", "linalg.lu_factor_ex", "linalg.lu_solve",
      "linalg.matrix_exp", "linalg.matrix_rank", "linalg.pinv", "linalg.qr", "linalg.svd", "linalg.svdvals",
      "linalg.tensorinv", "linalg.tensorsolve")),
    ("Shunt has no complex numbers", ("complex", "polar", "view_as_complex", "view_as_real", "is_complex_type", "cfloat")),
    ("Shunt has no sparse tensors",
     ("sparse", "sparse_coo_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor",
      "sparse_bsc_tensor", "sparse_compressed_tensor", "sspaddmm", "hspmm", "smm", "optim.SparseAdam")),
    ("Shunt has no nested or masked tensors", ("nested", "masked")),
    ("Shunt has no quantization",
     ("ao", "quantization", "quantize_per_tensor", "quantize_per_channel", "quantize_per_tensor_dynamic",
      "dequantize", "fake_quantize_per_tensor_affine", "fake_quantize_per_channel_affine", "quantized_lstm", "qint8",
      "quint8", "qint32", "per_tensor_affine", "per_channel_affine", "nn.quantized", "nn.qat", "nn.intrinsic",
      "nn.quantizable", "backends.quantized", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")),
    ("Shunt prunes no weights", ("nn.utils.prune",)),
    ("Shunt runs on one machine, without data parallelism",
     ("nn.DataParallel", "nn.parallel", "nn.SyncBatchNorm", "distributed", "nn.parallel.DistributedDataParallel")),
    ("Shunt has no TorchScript; compile() takes functions and modules as they are",
     ("jit.script", "jit.trace", "jit.trace_module", "jit.load", "jit.save", "jit.freeze", "jit.ScriptModule",
      "jit.ScriptFunction", "jit.fork", "jit.wait", "jit.script_if_tracing", "jit.optimize_for_inference",
      "jit.set_fusion_strategy", "jit.script_method", "jit.isinstance", "jit.annotate", "jit.Attribute", "jit.interface",
      "ScriptModule", "classes", "utils.mobile_optimizer")),
    ("Shunt has no graphs of nodes to edit", ("fx", "export", "_dynamo", "_inductor", "_export", "_functorch", "_guards")),
    ("Shunt downloads nothing", ("hub", "utils.model_zoo")),
    ("Shunt has no backend for it", ("mps", "xpu", "mtia", "cpu", "xla")),
    ("Shunt writes no files for TensorBoard; profiler.profile's export_chrome_trace() writes a trace",
     ("utils.tensorboard", "monitor")),
    ("Shunt's C++ programs are built with CMake", ("utils.cpp_extension",)),
    ("Shunt has no forward mode of this kind; func.jvp computes it", ("autograd.forward_ad",)),
    ("Shunt has no such package", ("package", "futures", "utils.bottleneck", "utils.bundled_inputs", "utils.collect_env")),
)

_reasons = {name: reason for reason, names in _FAMILIES for name in names}


def why_missing(module, name):
    """": Shunt has no FFT; see docs/differences.md" for a name that is missing on purpose from a module, which is
    "shunt", "torch", or one below it; "" for others."""
    inside = module.partition(".")[2]
    path = f"{inside}.{name}" if inside else name
    while path:
        if path in _reasons:
            return f": {_reasons[path]}; see docs/differences.md"
        path = path.rpartition(".")[0]
    return ""
