"""Keras's progress lines."""
import os
import shutil
import sys
import time

_BAR = 20
_INTERVAL = 0.05  # seconds from one picture of a moving line to the next
_BOLD, _DONE, _TO_DO, _PLAIN = "\x1b[1m", "\x1b[32m", "\x1b[37m", "\x1b[0m"


def _each(seconds: float) -> str:
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.0f}s/step"
    return f"{seconds * 1e3:.0f}ms/step" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us/step"


def _left(seconds: float) -> str:
    minutes, hours = seconds // 60, seconds // 3600
    if seconds > 3600:
        return f"{hours:.0f}:{minutes % 60:02.0f}:{seconds % 60 // 1:02.0f}"
    return f"{minutes:.0f}:{seconds % 60 // 1:02.0f}" if seconds > 60 else f"{seconds // 1:.0f}s"


def in_order(logs: dict) -> dict:
    """Keras's order: by name, then the validation's, then the learning rate."""
    return dict(sorted(logs.items(), key=lambda kv: (kv[0] == "learning_rate", kv[0].startswith("val_"), kv[0])))


def _shown(value) -> str:
    value = float(getattr(value, "mean", lambda: value)())  # of a metric of several values, as Keras shows it
    return f"{value:.4f}" if abs(value) > 1e-3 else f"{value:.4e}"


def _logs(logs: dict) -> str:
    return "".join(f" - {k}: {_shown(v)}" for k, v in in_order(logs).items())


def _can_move() -> bool:
    """Does standard output overwrite a line after a carriage return?"""
    is_terminal = getattr(sys.stdout, "isatty", None)
    return bool(is_terminal and is_terminal()) or "ipykernel" in sys.modules or "PYCHARM_HOSTED" in os.environ


class Progress:
    """A line for each run of steps. verbose 1: moving where output can, as in a terminal and in Jupyter, else once, at
    the end; 2: plain, at the end; 0: none."""

    def __init__(self, verbose: int):
        self.verbose = verbose
        self.moves = verbose == 1 and _can_move()
        self._begin()

    def _begin(self) -> None:
        self._width = 0
        self._started = self._shown = time.monotonic()
        self._first: float | None = None  # when the first step was done: it is slower, and counts in no estimate

    def epoch(self, epoch: int, epochs: int) -> None:
        """The heading; a single epoch has none."""
        self._begin()
        if self.verbose and epochs > 1:
            self._write(f"Epoch {epoch + 1}/{epochs}\n")

    def step(self, step: int, steps: int, seconds: float | None, logs: dict, last: bool) -> None:
        """So many steps of `steps` (0: not known) are done, in so many seconds (None: by the clock)."""
        if seconds is None:
            seconds = time.monotonic() - self._started
        if step == 1:
            self._first = seconds
        steps = step if last else steps
        if self.verbose == 0 or (not last and not self._is_due()):
            return
        known = self._first is not None and step > 1
        each = (seconds - self._first) / (step - 1) if known else seconds / max(step, 1)
        if self.verbose == 2:
            self._write(f"{self._count(step, steps)} - {seconds:.0f}s - {_each(each)}{_logs(logs)}\n")
        elif self.moves:
            self._move(step, steps, f"{seconds:.0f}s" if last else _left(each * max(steps - step, 0)), each, logs, last)
        else:
            self._write(f"{self._count(step, steps)} {'━' * _BAR} {seconds:.0f}s {_each(each)}{_logs(logs)}\n")
        if last:
            self._begin()

    def _is_due(self) -> bool:
        now = time.monotonic()
        if not self.moves or now - self._shown < _INTERVAL:
            return False
        self._shown = now
        return True

    @staticmethod
    def _count(step: int, steps: int) -> str:
        return f"{step:{len(str(steps))}d}/{steps}" if steps else f"{step:7d}/Unknown"

    def _move(self, step: int, steps: int, when: str, each: float, logs: dict, last: bool) -> None:
        count = self._count(step, steps)
        done = (_BAR if last else _BAR * step // steps) if steps else 0
        bar = f" {'━' * _BAR}" if steps else ""
        rest = f" {_each(each)}{_logs(logs)}"
        if not last:  # a line that wraps could not be shown anew
            rest = rest[: max(shutil.get_terminal_size().columns - 1 - len(count) - len(bar) - 1 - len(when), 0)]
        width = len(count) + len(bar) + 1 + len(when) + len(rest)
        painted = f" {_DONE}{bar[1:1 + done]}{_PLAIN}{_TO_DO}{bar[1 + done:]}{_PLAIN}" if bar else ""
        self._write(f"\r{_BOLD}{count}{_PLAIN}{painted} {_BOLD}{when}{_PLAIN}{rest}{' ' * (self._width - width)}"
                    + ("\n" if last else ""))
        self._width = width

    @staticmethod
    def _write(text: str) -> None:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:
            sys.stdout.write(text.replace("━", "="))
        sys.stdout.flush()


def verbosity(verbose) -> int:
    """0, 1 or 2 of what fit takes as verbose."""
    if verbose == "auto":
        return 1
    if verbose not in (0, 1, 2):
        raise ValueError(f"verbose: found {verbose!r}; expected 0, 1, 2 or 'auto'")
    return int(verbose)
