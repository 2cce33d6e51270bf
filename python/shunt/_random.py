"""Seeds of the default generator."""

from shunt._C import default_generator


def manual_seed(seed):
    """Starts the sequence of this seed, whatever int() takes, in the default generator, which it returns."""
    try:
        number = int(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(f"manual_seed(): expected seed to be an int, got {seed!r}") from None
    return default_generator.manual_seed(number)


def seed():
    """Starts the sequence of a seed that the system draws, and returns that."""
    return default_generator.seed()


def initial_seed():
    """The default generator's seed."""
    return default_generator.initial_seed()


def get_rng_state():
    """The default generator's place in its sequence, as uint8[16]."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Goes on from a place that get_rng_state() gave."""
    default_generator.set_state(new_state)
