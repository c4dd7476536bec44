#!/usr/bin/env python3
"""Run the commands of a page, one after the other, as its reader would.

page_commands.py PAGE PROGRAM [--pictures FOLDER] [--update]

A command is a line of a fenced block that begins with "$ ". They run in a new folder where PROGRAM is on the PATH and
`photos` holds three classes with odd names: those of FOLDER, or small ones that are drawn here. Each must succeed.
--update writes what they print into the page, below each of them.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CLASSES = ["my cats", "Häuser & Straßen", "海"]
EACH = 20  # pictures that are drawn, of a class
SHOWN = 60  # lines of output in the page; of longer ones the beginning and the end


def draw(folder: pathlib.Path) -> None:
    """Pictures of 24x20 pixels in which the class is the brightest channel."""
    for k, name in enumerate(CLASSES):
        (folder / name).mkdir(parents=True)
        for i in range(EACH):
            pixels = bytes((200 if c == k else (7 * i + 3 * at) % 120) for at in range(24 * 20) for c in range(3))
            (folder / name / f"picture {i}.ppm").write_bytes(b"P6 24 20 255\n" + pixels)


def run(command: str, folder: str, program: pathlib.Path) -> tuple[int, str]:
    environment = dict(os.environ, PATH=f"{program.parent}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode(errors="replace")


def shorten(lines: list[str]) -> list[str]:
    return lines if len(lines) <= SHOWN else lines[:SHOWN - 4] + ["..."] + lines[-3:]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    page, fenced, answered, commands, failures = [], False, False, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        photos = pathlib.Path(folder) / "photos"
        shutil.copytree(arguments.pictures, photos) if arguments.pictures else draw(photos)
        for line in arguments.page.read_text().splitlines():
            if line.startswith("```"):
                fenced, answered = not fenced, False
            if fenced and line.startswith("$ "):
                status, output = run(line[2:], folder, arguments.program.resolve())
                commands, failures, answered = commands + 1, failures + (status != 0), True
                print(f"{line}\n{output}", end="", flush=True)
                if status != 0:
                    print(f"{arguments.page}: {line[2:]}: ended with {status}; expected 0")
                page += [line] + shorten(output.replace(folder, "/home/you").splitlines())
            elif not answered or line.startswith("```"):
                page.append(line)
    print(f"{commands} commands, {failures} of them failed")
    if arguments.update and failures == 0:
        arguments.page.write_text("\n".join(page) + "\n")
    return failures > 0 or commands == 0


if __name__ == "__main__":
    sys.exit(main())
