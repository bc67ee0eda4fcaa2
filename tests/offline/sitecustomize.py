"""In the tests there is no network, and no training runs twice (shared_trainings.py).

No network: every Python that has this folder on its PYTHONPATH refuses to leave the machine.

conftest.py runs this file in the test process and puts the folder on the PYTHONPATH of all that the tests start.
"""

import errno
import os
import socket
import sys

LOOPBACK = ("localhost", "127.", "::1", "0.0.0.0")


def require_loopback(host):
    """Refuse as a machine without a network does, but at once and by name."""
    name = host.decode() if isinstance(host, bytes) else host
    if name and not (name.startswith(LOOPBACK) or name == socket.gethostname()):
        raise ConnectionRefusedError(errno.ECONNREFUSED, f"the tests have no network: {name}")


def guard(name):
    real = getattr(socket.socket, name)

    def guarded(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            require_loopback(address[0])
        return real(self, address)

    setattr(socket.socket, name, guarded)


def guard_lookup():
    real = socket.getaddrinfo

    def guarded(host, *arguments, **keywords):
        require_loopback(host)
        return real(host, *arguments, **keywords)

    socket.getaddrinfo = guarded


guard("connect")
guard("connect_ex")
guard_lookup()
# Kernels, and the processes that record the widgets of a notebook for the site.
if os.environ.get("COURSE_TRAININGS") and any(
    one.endswith(("ipykernel_launcher", "record.py")) for one in sys.orig_argv
):
    import shared_trainings

    shared_trainings.share(os.environ["COURSE_TRAININGS"], os.environ.get("COURSE_TRAININGS_KEPT"))
