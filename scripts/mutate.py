#!/usr/bin/env python3
"""Put faults into the code one at a time and see whether the tests notice.

scripts/mutations.txt lists the faults, one a line. Each is applied to a copy of the working tree in build/mutations,
which has its own build folder; the tests named in the line run first, then the others of the room's, then with --all
every test. What was found is kept, so that a run that was cut short goes on where it stopped. A line that the code has
outgrown is listed as stale and left out.

    scripts/mutate.py --check            which lines no longer fit the code ("stale"), or fit by other names?
    scripts/mutate.py --list train       the mutations of a room; names and parts of names select, too
    scripts/mutate.py train              run those
    scripts/mutate.py                    run all
    scripts/mutate.py --table            the results so far, as in CONTRIBUTING.md
"""
import argparse
import collections
import fcntl
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import mutate_places

HOME = pathlib.Path(__file__).resolve().parent.parent
LIST = HOME / "scripts" / "mutations.txt"
ROOMS = ["base", "format", "model", "step", "device", "data", "parallel", "exchange", "report", "train",
         "bench", "cli"]
# Whose tests run after the likeliest ones, by the room of the fault.
WIDER = {"base": ["base", "cli"], "format": ["format", "exchange", "train"],
         "model": ["model", "parity", "step", "train"],
         "step": ["step", "device", "parity", "train"], "device": ["device", "step", "parity"],
         "data": ["data", "parity", "train"], "parallel": ["parallel", "train"],
         "exchange": ["exchange", "train", "cli"],
         "report": ["report", "train", "cli"], "train": ["train", "cli"],
         "bench": ["bench", "cli"], "cli": ["cli"]}
NOTICED, SURVIVED, NO_BUILD = "noticed", "survived", "does not build"

Mutation = collections.namedtuple("Mutation", "line name file text replacement tests reason")


def stop(message):
    sys.exit(f"mutate.py: {message}")


def room_of(mutation):
    """By the list's file, not by where its text has moved: a result keeps its row."""
    return mutation.file.split("/")[1]


# ---- the list ---------------------------------------------------------------------------------

def read_list():
    """NAME @ FILE @ TEXT @ REPLACEMENT @ TESTS [@ REASON]; the reason says why no test can notice it."""
    mutations = []
    for number, line in enumerate(LIST.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split(" @ ")]
        if len(fields) not in (5, 6) or not all(fields[i] for i in (0, 1, 2, 4)):
            stop(f"{LIST.name}:{number}: found {len(fields)} fields; expected NAME @ FILE @ TEXT @ REPLACEMENT @ TESTS"
                 " [@ REASON]")
        name, file, text, replacement, tests = fields[:5]
        reason = fields[5] if len(fields) == 6 else ""
        mutations.append(Mutation(number, name, file, text, "" if replacement == "(nothing)" else replacement,
                                  tests.split(), reason))
    return mutations


def source_of(test):
    """step.gradient_test.winograd is tests/step/gradient_test.c with another environment."""
    return "/".join(["tests", *test.split(".")[:2]]) + ".c"


def targets_of(testfile):
    """{ctest's name of a test: CMake's target, the program that it runs} of a CTestTestfile.cmake.

    ctest --show-only=json-v1 says the same, but not of programs that are still to be built."""
    of_env = r'(?:"[^"]*cmake" "-E" "env" (?:"\w+=[^"]*" )*)?'
    found = re.findall(r'^add_test\(\[(=*)\[(.+?)\]\1\] ' + of_env + r'"([^"]+)"', testfile, re.MULTILINE)
    return {name: pathlib.PurePath(program).name for _, name, program in found}


def check_list(mutations):
    names = collections.Counter(m.name for m in mutations)
    for m in mutations:
        where = f"{LIST.name}:{m.line}: {m.name}"
        if names[m.name] > 1:
            stop(f"{where}: found this name {names[m.name]} times; expected once")
        if not re.match(r"src/\w+/", m.file):
            stop(f"{where}: found the file {m.file}; expected one in a room of src/")
        if m.text == m.replacement:
            stop(f"{where}: the replacement is the text itself")


def read_sources():
    return {str(path.relative_to(HOME)): path.read_text() for path in sorted((HOME / "src").rglob("*"))
            if path.suffix in (".c", ".h", ".def", ".cu", ".cl")}


def place_all(mutations):
    """{name: its place in the code}; tells of the others, and of what is not where the list says."""
    places, sources, stale = {}, read_sources(), 0
    for m in mutations:
        where = f"{LIST.name}:{m.line}: {m.name}"
        place = mutate_places.find_place(m.file, m.text, m.replacement, sources)
        if isinstance(place, str):
            stale += 1
            print(f"stale: {where}: {place}: {m.text}")
            continue
        places[m.name] = place
        if place.how:
            found = " ".join(sources[place.file][place.begin:place.end].split())
            print(f"{place.how}: {where}: {place.file}: {found} -> {place.replacement or '(nothing)'}")
        for test in m.tests:
            if not (HOME / source_of(test)).is_file():
                print(f"stale: {where}: found no test {test}; the room's others run")
    print(f"{len(places)} of {len(mutations)} mutations have their place in the code, {stale} are stale")
    return places


def select(mutations, words):
    known = {word: [m for m in mutations if
                    (room_of(m) == word if word in ROOMS else fnmatch.fnmatch(m.name, f"*{word}*"))]
             for word in words}
    for word, found in known.items():
        if not found:
            stop(f"found {word}; expected a room ({', '.join(ROOMS)}) or a part of a mutation's name")
    return [m for m in mutations if not words or any(m in found for found in known.values())]


# ---- the copy ---------------------------------------------------------------------------------

def tracked_files():
    """What git knows or would, if asked: no build folders."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=HOME,
                            check=True, stdout=subprocess.PIPE).stdout.decode()
    return [name for name in listed.split("\0") if name and (HOME / name).is_file()]


def write_if_other(path, content):
    """An equal file keeps its time, so that nothing is built again for it."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def sources_fingerprint(names):
    found = hashlib.sha256()
    for name in sorted(names):
        if name.split("/")[0] in ("src", "include", "tests", "recipes", "cmake", "CMakeLists.txt"):
            found.update(name.encode() + b"\0" + hashlib.sha256((HOME / name).read_bytes()).digest())
    return found.hexdigest()[:16]


class Copy:
    """The working tree once more, with its build folder."""

    def __init__(self, folder, jobs):
        self.source, self.build, self.jobs = folder / "source", folder / "build", jobs
        self.log = folder / "build.log"

    def refresh(self, names):
        for name in names:
            write_if_other(self.source / name, (HOME / name).read_bytes())
            os.chmod(self.source / name, os.stat(HOME / name).st_mode)
        known = set(names)
        for path in self.source.rglob("*"):
            if path.is_file() and str(path.relative_to(self.source)) not in known:
                path.unlink()

    def run_logged(self, command):
        with open(self.log, "wb") as log:
            return subprocess.run(command, stdout=log, stderr=subprocess.STDOUT).returncode == 0

    def configure(self):
        generator = [] if (self.build / "CMakeCache.txt").exists() or not ninja_is_there() else ["-G", "Ninja"]
        if not self.run_logged(["cmake", "-S", self.source, "-B", self.build, "-DCMAKE_BUILD_TYPE=Debug",
                                "-DCORNU_CUDA=OFF", *generator]):
            stop(f"cmake failed; what it said: {self.log}")

    def make(self, targets):
        return self.run_logged(["cmake", "--build", self.build, "--parallel", str(self.jobs), "--target", *targets])

    def tests(self):
        """{ctest's name: what to build for it} of the C tests."""
        testfiles = sorted((self.build / "tests").rglob("CTestTestfile.cmake"))
        targets = targets_of("".join(path.read_text() for path in testfiles))
        return {name: target for name, target in targets.items() if (self.source / source_of(name)).is_file()}

    def apply(self, place):
        path = self.source / place.file
        original = path.read_text()
        path.write_text(mutate_places.with_fault(place, original))
        return original

    def restore(self, place, original):
        (self.source / place.file).write_text(original)

    def run_test(self, test, limit, output):
        """None where it passes, otherwise how it failed. A test and what it started end at the limit."""
        # Where a fault takes all memory, the test goes first.
        command = ["sh", "-c", 'echo 1000 >/proc/self/oom_score_adj; exec "$@"', "sh",
                   "ctest", "--test-dir", self.build, "--verbose", "--no-tests=error", "-R", f"^{re.escape(test)}$"]
        with open(output, "wb") as log, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            # What a killed test leaves behind goes with TMPDIR.
            process = subprocess.Popen(command, env=dict(os.environ, TMPDIR=scratch), stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                return None if process.wait(timeout=limit) == 0 else "fails"
            except subprocess.TimeoutExpired:
                return f"more than {limit:.0f} s"
            finally:
                end_session(process.pid)
                process.wait()


def ninja_is_there():
    return subprocess.run(["sh", "-c", "command -v ninja"], stdout=subprocess.DEVNULL).returncode == 0


def end_session(leader):
    """Ends all processes of a session: ctest gives each test a process group of its own."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            session = int(stat.read_text(errors="replace").rpartition(")")[2].split()[3])
            if session == leader:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (OSError, ValueError):
            pass  # it has ended meanwhile


# ---- running ----------------------------------------------------------------------------------

class Results:
    """A line of JSON for each mutation that was run, and for each test that passed without one; the last counts."""

    def __init__(self, path, fingerprint, any_source):
        self.path, self.fingerprint, self.found, self.passed = path, fingerprint, {}, {}
        if path.exists():
            for line in path.read_text().splitlines():
                result = json.loads(line)
                if "test" in result:
                    if result["sources"] == fingerprint:
                        self.passed[result["test"]] = result["seconds"]
                elif result["sources"] == fingerprint or (any_source and result["outcome"] == NOTICED):
                    self.found[result["mutation"]] = result

    @staticmethod
    def key(m):
        return " @ ".join([m.name, m.file, m.text, m.replacement])

    def get(self, m):
        return self.found.get(self.key(m))

    def seconds_of(self, test):
        return self.passed.get(test)

    def add_passed(self, test, seconds):
        self.append({"test": test, "seconds": seconds, "sources": self.fingerprint})

    def append(self, result):
        with open(self.path, "a") as file:
            file.write(json.dumps(result) + "\n")

    def add(self, m, outcome, detail):
        result = {"mutation": self.key(m), "outcome": outcome, "detail": detail, "sources": self.fingerprint}
        self.found[result["mutation"]] = result
        self.append(result)


class Runner:
    def __init__(self, copy, places, options, folder, results):
        self.copy, self.places, self.options, self.folder, self.results = copy, places, options, folder, results
        self.tests = copy.tests()
        self.seconds = {}

    def rounds(self, m):
        """Lists of tests, the likeliest first, in each the quickest; none twice."""
        wider = [name for name in self.tests if name.split(".")[0] in WIDER[room_of(m)] and name.count(".") == 1]
        named = [name for test in m.tests for name in self.tests if name == test]
        done = set()
        for names in [named] + ([] if self.options.likeliest else [wider]) + \
                ([list(self.tests)] if self.options.all else []):
            names = [name for name in names if name not in done]
            done.update(names)
            if names:
                yield sorted(names, key=lambda name: self.seconds.get(name, 0))

    def measure(self, mutations):
        """Every test that may be run must pass without a fault; its time gives its limit."""
        for test in sorted({test for m in mutations for test in m.tests} - self.tests.keys()):
            print(f"ctest has no test {test} here: what it should notice is left to others", flush=True)
        needed = sorted({name for m in mutations for names in self.rounds(m) for name in names})
        if not self.copy.make(sorted({self.tests[name] for name in needed})):
            stop(f"the code without a fault does not build: {self.copy.log}")
        for name in needed:
            self.seconds[name] = self.results.seconds_of(name)
            if self.seconds[name] is not None:
                continue
            begin = time.monotonic()
            failure = self.copy.run_test(name, 900, self.folder / "test.log")
            self.seconds[name] = time.monotonic() - begin
            if failure:
                stop(f"{name} fails without a fault ({failure}): {self.folder / 'test.log'}")
            self.results.add_passed(name, self.seconds[name])
        print(f"{len(needed)} tests pass without a fault, in {sum(self.seconds.values()):.0f} s", flush=True)

    def limit(self, name):
        return max(120.0, 10 * self.seconds.get(name, 60))

    def fails(self, name):
        """Twice: a test that fails now and then has noticed nothing."""
        failure = self.copy.run_test(name, self.limit(name), self.folder / "test.log")
        if not failure or failure.startswith("more than"):
            return failure
        return self.copy.run_test(name, self.limit(name), self.folder / "test.log")

    def judge(self, m):
        for names in self.rounds(m):
            if not self.copy.make(sorted({self.tests[name] for name in names})):
                return NO_BUILD, last_error(self.copy.log)
            for name in names:
                failure = self.fails(name)
                if failure:
                    return NOTICED, f"{name}: {failure}"
        return SURVIVED, ""

    def run(self, m):
        original = self.copy.apply(self.places[m.name])
        try:
            return self.judge(m)
        finally:
            self.copy.restore(self.places[m.name], original)


def last_error(log):
    lines = [line for line in log.read_text(errors="replace").splitlines() if "error" in line]
    return lines[0][-160:] if lines else f"see {log}"


def print_table(mutations, results):
    print("| room | noticed | survived | does not build |\n|---|---|---|---|")
    total = collections.Counter()
    for room in ROOMS:
        found = collections.Counter(results.get(m)["outcome"] for m in mutations
                                    if room_of(m) == room and results.get(m))
        total += found
        if found:
            print(f"| `{room}` | {found[NOTICED]} of {found[NOTICED] + found[SURVIVED]} | {found[SURVIVED]} |"
                  f" {found[NO_BUILD]} |")
    judged = total[NOTICED] + total[SURVIVED]
    share = f" ({100 * total[NOTICED] / judged:.1f} %)" if judged else ""
    print(f"| all | {total[NOTICED]} of {judged}{share} | {total[SURVIVED]} | {total[NO_BUILD]} |")
    left = sum(1 for m in mutations if not results.get(m))
    if left:
        print(f"\n{left} were not run yet.")
    for m in mutations:
        result = results.get(m)
        if result and result["outcome"] == SURVIVED:
            print(f"\n- `{m.name}` ({m.file}: `{m.text}` -> `{m.replacement}`): {m.reason or 'no reason given'}", end="")
        if result and result["outcome"] == NO_BUILD:
            print(f"\n- `{m.name}` does not build: {result['detail']}", end="")
    print()


def run_all(mutations, places, options):
    folder = pathlib.Path(options.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    names = tracked_files()
    results = Results(folder / "results.jsonl", sources_fingerprint(names), options.keep)
    if not options.table:
        due = [m for m in mutations if m.name in places and (options.again or not results.get(m))]
        if due:
            lock = open(folder / "lock", "w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                stop(f"another run is using {folder}")
            copy = Copy(folder, options.jobs)
            copy.refresh(names)
            copy.configure()
            runner = Runner(copy, places, options, folder, results)
            runner.measure(due)
            for number, m in enumerate(due, 1):
                outcome, detail = runner.run(m)
                results.add(m, outcome, detail)
                print(f"{number}/{len(due)} {outcome:9} {room_of(m)} {m.name}  {detail}", flush=True)
    print_table(mutations, results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="ROOM|NAME", help="only these; parts of names, with * and ?")
    parser.add_argument("--check", action="store_true", help="only look whether the list fits the code")
    parser.add_argument("--list", action="store_true", help="only list the mutations")
    parser.add_argument("--table", action="store_true", help="only print what was found so far")
    parser.add_argument("--again", action="store_true", help="run also what was run before")
    parser.add_argument("--keep", action="store_true", help="what was noticed with other sources counts, too")
    parser.add_argument("--likeliest", action="store_true", help="run no tests but those named in the list")
    parser.add_argument("--all", action="store_true", help="before a mutation counts as survived, run every test")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes of a build")
    parser.add_argument("--folder", default=HOME / "build" / "mutations", help="where copy, build and results are")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # what runs is ended, too
    everything = read_list()
    mutations = select(everything, options.words)
    check_list(everything)
    if options.list:
        for m in mutations:
            print(f"{room_of(m):6} {m.name:32} {m.file}: {m.text} -> {m.replacement or '(nothing)'}")
        return
    places = place_all(everything if options.check else mutations)
    if not options.check:
        run_all(mutations, places, options)


if __name__ == "__main__":
    main()
