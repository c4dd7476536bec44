"""python -m cornu: the command line, which is a program of the package, or that of the system's package."""
import os
import signal
import sys
from pathlib import Path


def _program() -> Path:
    """The wheel's own; in /usr/lib/python3/dist-packages it is /usr/bin/cornu. Not the script that starts this."""
    own = Path(__file__).with_name("bin") / "cornu"
    if own.exists():
        return own
    try:
        systems = Path(__file__).parents[4] / "bin" / "cornu"
        with systems.open("rb") as file:
            return systems if file.read(4) == b"\x7fELF" else own
    except (IndexError, OSError):
        return own


def main() -> None:
    """Become the program: its exit code, its answers to signals, its output."""
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and programs inherit it
        signal.signal(ignored, signal.SIG_DFL)
    program = _program()
    try:
        os.execv(program, ["cornu", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"cornu: {program}: cannot start the command line: {error.strerror}")


if __name__ == "__main__":
    main()
