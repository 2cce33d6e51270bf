"""ONNX: programs that can export models import this module. Nothing is exported."""

__all__ = ["export"]


def export(model, args=(), f=None, **options):
    """Refused (NotImplementedError): Shunt writes no ONNX files."""
    raise NotImplementedError("onnx.export(): Shunt writes no ONNX files. Save the model's state_dict() by "
                              "shunt.save() and export it with PyTorch, which reads the file.")
