#!/usr/bin/env python3
"""Unpack the image files of tests/fixtures/images.npz into a folder, as seeds for the fuzzer, and Keras's files of
keras_files.npz into its folder keras, with a last byte for their ending.

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


def keras():
    folder = os.path.join(sys.argv[1], "keras")
    os.makedirs(folder, exist_ok=True)
    fixtures = os.path.join(os.path.dirname(__file__), "../fixtures/keras_files.npz")
    with zipfile.ZipFile(fixtures) as archive:
        for name in archive.namelist():
            if name.startswith("file/"):
                name = name.removesuffix(".npy")
                with open(os.path.join(folder, os.path.basename(name)), "wb") as out:
                    out.write(member(archive, name) + (b"k" if name.endswith(".keras") else b"h"))


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    keras()
    fixtures = os.path.join(os.path.dirname(__file__), "../fixtures/images.npz")
    with zipfile.ZipFile(fixtures) as archive:
        files, at = member(archive, "files"), 0
        for line in member(archive, "cases").decode().splitlines():
            name, size = line.split()[:2]
            with open(os.path.join(sys.argv[1], name), "wb") as out:
                out.write(files[at:at + int(size)])
            at += int(size)


main()
