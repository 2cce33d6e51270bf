"""What programs ask of PyTorch's libraries, and set for them. Shunt has none of them: is_available() is False, and
settings are kept and change nothing."""

from shunt.backends import cuda, cudnn, mkl, mkldnn, mps, openmp

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
