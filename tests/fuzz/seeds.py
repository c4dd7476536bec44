#!/usr/bin/env python3
"""Unpack the image files of tests/fixtures/images.npz into a folder, as seeds for the fuzzer.

usage: seeds.py FOLDER
"""
import ast
import os
import sys
import zipfile


def member(archive, name):
    """The bytes of an array of uint8, without NumPy."""
    data = archive.read(name + ".npy")
    length = int.from_bytes(data[8:10], "little")
    assert ast.literal_eval(data[10:10 + length].decode())["descr"] == "|u1"
    return data[10 + length:]


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    fixtures = os.path.join(os.path.dirname(__file__), "../fixtures/images.npz")
    with zipfile.ZipFile(fixtures) as archive:
        files, at = member(archive, "files"), 0
        for line in member(archive, "cases").decode().splitlines():
            name, size = line.split()[:2]
            with open(os.path.join(sys.argv[1], name), "wb") as out:
                out.write(files[at:at + int(size)])
            at += int(size)


main()
