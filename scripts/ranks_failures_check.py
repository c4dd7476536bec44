#!/usr/bin/env python3
"""What a cluster does to ranks: does each failure end within 10 s, with one line that names the rank, and a whole model file?

  scripts/ranks_failures_check.py build/release

As root: two network namespaces stand for two hosts (wire_check.py), joined by a link of 10 Gbit/s that is cut; a file system of
1 MB is full; a copy of the program says that it is of another version. Ends with 1 where one does not hold.
"""
import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from ranks_check import ENVIRONMENT, launcher
from ranks_kill_check import RECIPE, make_data
from wire_check import HOSTS, on_two_hosts, two_hosts

# Else Open MPI's launcher waits for its daemon behind a cut link (docs/cluster.md).
KEEPALIVE = [word for name, value in (("time", 3), ("intvl", 1), ("probes", 3))
             for word in ("--mca", f"oob_tcp_keepalive_{name}", str(value))]


@contextlib.contextmanager
def small_disk(folder):
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=False)


def watch(command, folder, model=None, cut=None):
    """Run it; once `model` is there, call `cut`. What cornu said, and seconds to the end from then on (or from the start)."""
    with (folder / "log").open("w+") as log:  # no pipe, which a daemon behind a cut link would hold open
        process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=log, stderr=subprocess.STDOUT)
        while cut and process.poll() is None and not model.exists():
            time.sleep(0.02)
        began = time.monotonic()
        if cut:
            cut()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
        seconds = time.monotonic() - began
        log.seek(0)
        return [line for line in log.read().splitlines() if line.startswith("cornu: ")], seconds


def judge(what, lines, seconds, part, whole):
    # The two ends of a cut link know nothing of each other: each says its own.
    most = 2 if "cut" in what else 1
    good = lines and all(part in line for line in lines) and len(lines) <= most and seconds <= 10 and whole
    print(f"{what}: {'held' if good else 'DOES NOT HOLD'}: {seconds:.1f} s, {lines}{'' if whole else ', no whole model file'}",
          flush=True)
    return not good


def is_whole(program, model, folder):
    return subprocess.run([program, "summary", model], cwd=folder, capture_output=True).returncode == 0


def cut_link(build, program, folder):
    model = folder / "cut.safetensors"
    train = [program, "train", "net.yaml", "--data", "cifar-10-batches-bin", "--threads", "1", "--epochs", "1000000", "--quiet",
             "--save", str(model)]
    with two_hosts(build / "tests/wire", 1e10, 5e-5):
        lines, seconds = watch(on_two_hosts(folder, train, *KEEPALIVE), folder, model,
                               lambda: subprocess.run(["ip", "-n", HOSTS[1], "link", "set", "wire0", "down"], check=True))
        for host in HOSTS:  # a host behind a cut link keeps its daemon, as nobody tells it
            for pid in subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True).stdout.split():
                subprocess.run(["kill", "-KILL", pid], check=False)
    return judge("cut link", lines, seconds, "has not answered rank", is_whole(program, model, folder))


def full_disk(program, folder):
    with small_disk(folder / "small") as disk:
        model = disk / "full.safetensors"
        # 786,432 weights are 3 MB.
        lines, seconds = watch([*launcher("openmpi", 2), program, "train", "net.yaml", "--data", "cifar-10-batches-bin",
                                "--threads", "1", "--quiet", "--save", str(model)], folder)
        left = [entry.name for entry in disk.iterdir()]
    return judge(f"full disk (left there: {left})", lines, seconds, "rank 0 (", not left)


def other_version(build, program, folder):
    other = folder / "other"
    other.mkdir()
    version = subprocess.run([program, "--version"], capture_output=True, check=True).stdout.split()[-1]
    changed = version[:-1] + b"9"
    for file in ("cornu", "libcornu-mpi-openmpi.so"):
        shutil.copy(build / file, other)
        code = (other / file).read_bytes()
        if version not in code:
            sys.exit(f"{file}: found no version {version.decode()} in it")
        (other / file).write_bytes(code.replace(version, changed))
    train = ["train", "net.yaml", "--data", "cifar-10-batches-bin", "--threads", "1", "--quiet"]
    lines, seconds = watch(["mpirun.openmpi", "--oversubscribe", "-n", "1", program, *train, ":", "-n",
                            "1", str(other / "cornu"), *train], folder)
    return judge("another version", lines, seconds, f"version of cornu: found {changed.decode()} on rank 1 (", True)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    subprocess.run(["cmake", "--build", build, "--target", "cornu_program", "cornu_mpi_openmpi", "wire"], check=True,
                   stdout=subprocess.DEVNULL)
    program = str(build / "cornu")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "net.yaml").write_text(RECIPE)
        make_data(folder / "cifar-10-batches-bin")
        wrong = full_disk(program, folder) + other_version(build, program, folder) + cut_link(build, program, folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
