#!/usr/bin/env python3
"""Do forecasts of `cornu bench --ranks` hold on a network of known rate and latency, and is the time of messages hidden?

  scripts/wire_check.py build/release [WORKLOAD...] [--rate 1Gbit] [--latency 200us] [--batch 128] [--rounds 3]
                        [--shard-optimizer]

As root: makes two network namespaces, which stand for two hosts, joins them by build/release/tests/wire, and has Open MPI start
a rank of one thread on each. Ends with 1 where a measured step is more than 15 % from the forecast for such a network, or less
than 70 % of what can be hidden behind the gradients is.
"""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HOSTS = ("cornu-alpha", "cornu-beta")
UNITS = {"Gbit": 1e9, "Mbit": 1e6, "kbit": 1e3, "us": 1e-6, "ms": 1e-3, "ns": 1e-9}
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# What Open MPI takes for ssh: the command, in the namespace of that address and with its host's name.
AGENT = """#!/bin/sh
case $1 in 10.77.0.1) host={0} ;; *) host={1} ;; esac
shift
exec ip netns exec "$host" unshare -u sh -c "hostname $host; $*"
""".format(*HOSTS)


def quantity(text):
    unit = next(u for u in UNITS if text.endswith(u))
    return float(text[:-len(unit)]) * UNITS[unit]


@contextlib.contextmanager
def two_hosts(wire, rate, latency):
    for host in HOSTS:
        subprocess.run(["ip", "netns", "add", host], check=True)
    link = subprocess.Popen([wire, *HOSTS, str(rate), str(latency)], stdout=subprocess.PIPE, text=True)
    try:
        if link.stdout.readline() != "ready\n":
            sys.exit("wire: found no link")
        for number, host in enumerate(HOSTS, 1):
            for command in (f"addr add 10.77.0.{number}/24 dev wire0", "link set wire0 mtu 16000 up", "link set lo up"):
                subprocess.run(["ip", "-n", host, *command.split()], check=True)
        yield
    finally:
        link.kill()
        for host in HOSTS:
            subprocess.run(["ip", "netns", "del", host], check=False)


def on_two_hosts(folder, command, *more):
    """What has Open MPI start a rank of the command on each host, from the first; `more`: options of its launcher."""
    agent = folder / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    # Unbound: each host would bind its rank to its first core, which is the same one.
    launch = ["mpirun.openmpi", "--host", "10.77.0.1:1,10.77.0.2:1", "-n", "2", "--bind-to", "none", "--mca", "plm_rsh_agent",
              str(agent), "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "wire0", "--mca", "oob_tcp_if_include",
              "wire0", *more]
    return ["ip", "netns", "exec", HOSTS[0], "unshare", "-u", "sh", "-c", f'hostname {HOSTS[0]}; exec "$@"', "sh", *launch,
            *command]


def measure(o, workload, folder):
    bench = [f"{o.build}/cornu", "bench", "--ranks", workload, "--batch", str(o.batch), "--threads", "1", "--quick",
             "--forecast", f"{o.rate}@{o.latency}", "--json", str(folder / "ranks.json"),
             *(["--shard-optimizer"] if o.shard_optimizer else [])]
    subprocess.run(on_two_hosts(folder, bench), check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    return json.loads((folder / "ranks.json").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("workloads", nargs="*", default=["cifar10-cnn"])
    parser.add_argument("--rate", default="1Gbit")
    parser.add_argument("--latency", default="200us")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shard-optimizer", action="store_true")
    o = parser.parse_args()
    subprocess.run(["cmake", "--build", o.build, "--target", "cornu_program", "wire"], check=True, stdout=subprocess.DEVNULL)
    wrong = 0
    with two_hosts(o.build / "tests/wire", quantity(o.rate), quantity(o.latency)), tempfile.TemporaryDirectory() as folder:
        for workload in o.workloads:
            off, hidden = [], []
            for _ in range(o.rounds):
                report = measure(o, workload, pathlib.Path(folder))
                r = report["results"][0]
                forecast = r["forecasts"][0]["steps"][1]["seconds"]
                off.append(forecast / r["step_seconds"] - 1)
                hidden.append(r["hidden"] / r["hideable"])
                print(f"{workload}: messages take {1e6 * report['latency']:.0f} us and "
                      f"{1e-6 * report['bytes_per_second']:.0f} MB/s; a step {1e3 * r['step_seconds']:.1f} ms, of which "
                      f"waiting {1e3 * r['waited_seconds']:.1f}, forecast {1e3 * forecast:.1f} ({100 * off[-1]:+.1f} %), "
                      f"from what was measured {1e3 * r['model_seconds']:.1f}; "
                      f"adding alone {1e3 * r['sum_seconds']:.1f} ms, {100 * r['hidden']:.0f} % hidden of "
                      f"{100 * r['hideable']:.0f} %", flush=True)
            wrong += abs(statistics.median(off)) > 0.15 or statistics.median(hidden) < 0.7
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
