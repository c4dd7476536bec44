"""Keras's progress lines."""
import shutil
import sys

_BAR = 20


def _time(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.0f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"


def _logs(logs: dict) -> str:
    return "".join(f" - {k}: {v:.4f}" if abs(v) > 1e-3 else f" - {k}: {v:.4e}" for k, v in sorted(logs.items()))


class Progress:
    """A line a run of steps: verbose 1 moves in a terminal, 2 comes at the end, 0 is silent."""

    def __init__(self, verbose: int):
        self.verbose = verbose
        self.moves = verbose == 1 and (sys.stdout.isatty() or "ipykernel" in sys.modules)
        self.width = 0

    def epoch(self, epoch: int, epochs: int) -> None:
        if self.verbose:
            self._write(f"Epoch {epoch + 1}/{epochs}\n")

    def step(self, step: int, steps: int, seconds: float, logs: dict, last: bool) -> None:
        if self.verbose == 0 or (not last and not self.moves):
            return
        each = _time(seconds / max(step, 1))
        if self.verbose == 2:
            line = f"{step}/{steps} - {_time(seconds)} - {each}/step{_logs(logs)}"
        else:
            done = _BAR * step // max(steps, 1)
            bar = "━" * _BAR if last else "━" * done + " " * (_BAR - done)
            when = f"{_time(seconds)} {each}/step" if last else f"{_time(seconds / max(step, 1) * (steps - step))} {each}/step"
            line = f"{step}/{steps} {bar} {when}{_logs(logs)}"
        if not last:
            line = line[: shutil.get_terminal_size().columns - 1]
        fill = " " * (self.width - len(line))
        self.width = 0 if last else len(line)
        self._write(("\r" if self.moves else "") + line + fill + ("\n" if last else ""))

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def verbosity(verbose) -> int:
    if verbose == "auto":
        return 1
    if verbose not in (0, 1, 2):
        raise ValueError(f"verbose: found {verbose!r}; expected 0, 1, 2 or 'auto'")
    return int(verbose)
