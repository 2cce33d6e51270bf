"""The options that the examples share."""

import argparse


def parse(description, **defaults):
    """Options --<name> for each default, and --plot FILE."""
    parser = argparse.ArgumentParser(description=description)
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=type(value), default=value, help=f"default: {value}")
    parser.add_argument("--plot", metavar="FILE", help="draw what was found (matplotlib)")
    return parser.parse_args()


def plot(file, title, x_label, y_label, **lines):
    """Draws lines, each a pair of lists x, y, into a file."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots()
    for label, (x, y) in lines.items():
        axes.plot(x, y, label=label.replace("_", " "))
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.legend()
    figure.savefig(file)
