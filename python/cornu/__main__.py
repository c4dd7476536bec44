"""python -m cornu: the command line, which is a program of the package."""
import os
import signal
import sys
from pathlib import Path


def main() -> None:
    """Become the program: its exit code, its answers to signals, its output."""
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and programs inherit it
        signal.signal(ignored, signal.SIG_DFL)
    program = Path(__file__).with_name("bin") / "cornu"
    try:
        os.execv(program, ["cornu", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"cornu: {program}: cannot start the command line: {error.strerror}")


if __name__ == "__main__":
    main()
