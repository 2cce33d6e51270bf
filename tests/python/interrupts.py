"""What tests that send an interrupt to a process need."""

import signal


def take_interrupts():
    """As preexec_fn: a shell starts what it runs in the background with SIGINT ignored, which processes inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
