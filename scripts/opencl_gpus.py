#!/usr/bin/env python3
"""OpenCL kernels on GPUs that are not here: what their code takes, and what follows from it on paper.

Compiles every unit of src/device/opencl/plugin/kernels with Debian's clang and libclc, with the options and the blocking
that the plug-in uses on a GPU: to PTX, which ptxas makes code of, and to AMD's code. Registers, local memory, spills and
occupancy become the tables of docs/opencl-gpus.md, with the share of peak that scripts/opencl_paper.py expects of the
workloads' products and convolutions.

  scripts/opencl_gpus.py                      writes docs/opencl-gpus.md
  scripts/opencl_gpus.py --check              only the units of products: do they compile, without spills? Ends with 77,
                                              and a line that says why, where a tool is missing
  --launches FILE                             the program opencl_launches (build/release/tests/opencl_launches)
  --clang FILE, --libclc FOLDER               of one version; else the newest that are installed
  --ptxas FILE, --ptxas-old FILE              of the CUDA toolkit; one that still knows sm_61 (CUDA 12)
  --nvdisasm FILE                             to count NVIDIA's own instructions; else PTX's are counted
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import opencl_paper as paper

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLUGIN = os.path.join(ROOT, "src/device/opencl/plugin")
PRODUCTS = ("conv", "dense", "winograd")  # units in which nothing may spill
LIBDEVICE = "/usr/local/cuda/nvvm/libdevice/libdevice.10.bc"
VENDORS = {"nvptx": "NVIDIA Corporation", "amdgcn": "Advanced Micro Devices, Inc."}


class Missing(Exception):
    """A tool that is not here; the message is the line to show."""


# ---- tools ------------------------------------------------------------------------------------------------------------

def newest_clang(given, folder):
    """(clang, folder of libclc's bitcode): the newest clang whose libclc is here."""
    for version in range(40, 13, -1):
        clang = shutil.which(given or f"clang-{version}")
        if clang and (folder or libclc_version() == version):
            return clang, folder or "/usr/lib/clc"
    raise Missing("clang and libclc of one version are not installed (Debian: clang-22 libclc-22, or 15)")


def libclc_version():
    """Of /usr/lib/clc, which one of Debian's packages has."""
    found = subprocess.run(["dpkg-query", "-S", "/usr/lib/clc/nvptx64--.bc"], capture_output=True, text=True)
    return int((re.search(r"libclc-(\d+)", found.stdout) or [0, 0])[1])


def find_ptxas(given):
    for path in ([given] if given else [shutil.which("ptxas"), "/usr/local/cuda/bin/ptxas"]):
        if path and os.path.exists(path):
            return path
    raise Missing("ptxas of the CUDA toolkit is not installed (or --ptxas FILE)")


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)}:\n{done.stderr[:2000]}")
    return done


# ---- what the plug-in compiles ------------------------------------------------------------------------------------------

def units(folder):
    """{unit: text}, as cmake/opencl_sources.cmake makes them."""
    path = os.path.join(folder, "sources.c")
    run(["cmake", f"-DOUTPUT={path}", f"-DROOT={ROOT}/src", "-P", f"{ROOT}/cmake/opencl_sources.cmake"])
    with open(path, encoding="ascii") as file:
        found = re.findall(r"char source_(\w+)\[\] = \{(.*?)0\};", file.read())
    return {name: bytes(int(b, 16) for b in text.split(",") if b).decode() for name, text in found}


def options():
    """clBuildProgram's options but for the blocking: program.c."""
    with open(PLUGIN + "/program.c", encoding="utf-8") as file:
        return re.search(r'"(-cl-std=\S+[^"]*)"', file.read()).group(1).split()


def launches(program, vendor, compute_units):
    """The blocking, and {workload: [operation with its launches]} of batch 32."""
    workloads = workload_names()
    lines = run([program, vendor, str(compute_units), "32", *workloads]).stdout.splitlines()
    blocking, found, operations = None, {}, None
    for line in map(json.loads, lines):
        if "blocking" in line:
            blocking = line["blocking"]
        elif "workload" in line:
            operations = found[line["workload"]] = []
        elif "operation" in line:
            operations.append(line | {"launches": []})
        else:
            operations[-1]["launches"].append(line)
    return blocking, found


def workload_names():
    """Those of the benchmark whose steps differ."""
    names = sorted(os.path.splitext(name)[0] for name in os.listdir(ROOT + "/recipes"))
    return [name for name in names if name not in ("photos-cnn", "photos-cnn-256")]


# ---- compiling ----------------------------------------------------------------------------------------------------------

class Kernel:
    """What one kernel's code takes on one architecture."""

    def __init__(self, name, arch, items):
        self.name, self.arch, self.items = name, arch, items
        self.registers = self.scalars = self.local = self.spills = self.stack = 0
        self.wave = 32
        self.code = []

    def occupancy(self):
        return paper.occupancy(self)


def defines(blocking):
    return [f"-D{name}={value}" for name, value in blocking.items() if name.isupper()]


def clang_command(tools, target, arch, blocking, source, output):
    clang, folder = tools
    libraries = {"amdgcn": ["amdgcn-amd-amdhsa.bc", "amdgcn--amdhsa.bc"], "nvptx": ["nvptx64--nvidiacl.bc", "nvptx64--.bc"]}[target]
    library = next(path for name in libraries for path in glob.glob(f"{folder}/{name}"))
    machine = {"amdgcn": ["-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}"],
               "nvptx": ["-target", "nvptx64--nvidiacl", "-Xclang", "-target-cpu", "-Xclang", arch,
                         "-Xclang", "-target-feature", "-Xclang", "+ptx63"]}[target]
    if target == "nvptx" and os.path.exists(LIBDEVICE):  # newer libclcs call it
        library = f"{library}:{LIBDEVICE}"
    return [clang, "-x", "cl", "-S", "-O3", "-nogpulib", *machine, *options(), *defines(blocking),
            *(word for path in library.split(":") for word in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", path)),
            "-Wno-everything", "-o", output, source]


def arguments_of(tools, folder, text, blocking):
    """{kernel: its parameters' names}"""
    path = os.path.join(folder, "names.cl")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    text = run([tools[0], "-E", "-P", "-x", "cl", *options(), *defines(blocking), path]).stdout
    return {name: [p.split()[-1].lstrip("*") for p in parameters.split(",")]
            for name, parameters in re.findall(r"void (cornu_\w+)\s*\(([^)]*)\)", text)}


def compile_amd(tools, arch, blocking, source):
    output = f"{source}.{arch}.s"
    run(clang_command(tools, "amdgcn", arch, blocking, source, output))
    with open(output, encoding="utf-8") as file:
        return amd_kernels(file.read(), arch)


def amd_kernels(text, arch):
    """From the metadata at the end, and the code."""
    found = {}
    metadata = text[text.index(".amdgpu_metadata"):]
    metadata = metadata[metadata.index("amdhsa.kernels:"):]
    for entry in re.split(r"\n  - ", metadata)[1:]:
        entry = "\n    " + entry
        field = lambda name: re.search(rf"\n    \.{name}: +(\S+)", entry)  # noqa: E731
        number = lambda name: int(field(name).group(1)) if field(name) else 0  # noqa: E731
        if not field("name"):
            continue
        sizes = re.search(r"\.reqd_workgroup_size:\s+- (\d+)\s+- (\d+)\s+- (\d+)", entry)
        items = int(sizes.group(1)) * int(sizes.group(2)) * int(sizes.group(3))
        k = Kernel(field("name").group(1), arch, items)
        k.registers, k.scalars = number("vgpr_count"), number("sgpr_count")
        k.local, k.wave = number("group_segment_fixed_size"), number("wavefront_size")
        k.spills = number("vgpr_spill_count") + number("sgpr_spill_count")
        k.stack = number("private_segment_fixed_size")
        k.code = paper.instructions(re.search(rf"\n{k.name}:.*?\.Lfunc_end", text, re.S).group(0), "amdgcn")
        found[k.name] = k
    return found


def compile_nvidia(tools, archs, blocking, source, nvdisasm):
    """{arch: kernels}; archs: {arch: ptxas}. PTX is made for the oldest, as a driver's compiler would."""
    found = {}
    for arch, ptxas in archs.items():
        ptx, cubin = f"{source}.{arch}.ptx", f"{source}.{arch}.cubin"
        run(clang_command(tools, "nvptx", arch, blocking, source, ptx))
        log = run([ptxas, "-v", f"-arch={arch}", ptx, "-o", cubin]).stderr
        with open(ptx, encoding="utf-8") as file:
            text = file.read()
        found[arch] = nvidia_kernels(log, arch)
        code = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True) if nvdisasm else None
        for k in found[arch].values():
            if code and code.returncode == 0:
                body = re.search(rf"\.text\.{k.name}:(.*?)(?=\n\.text\.|\n\t?\.section|\Z)", code.stdout, re.S)
                k.code = paper.instructions(body.group(1), "sass")
            else:
                body = re.search(rf"\.func __clang_ocl_kern_imp_{k.name}\(\n.*?\n\{{.*?\n\}}", text, re.S) or \
                    re.search(rf"\.entry {k.name}\(.*?\n\}}", text, re.S)
                k.code = paper.instructions(body.group(0), "ptx")
    return found


def nvidia_kernels(log, arch):
    """PTX of newer clangs does not say how many work-items a group has: compile_all does."""
    found = {}
    pattern = r"Compiling entry function '(\w+)'.*?(?=Compiling entry function|\Z)"
    for entry in re.finditer(pattern, log, re.S):
        name, text = entry.group(1), entry.group(0)
        k = Kernel(name, arch, 0)
        number = lambda words: int((re.search(rf"(\d+) {words}", text) or [0, 0])[1])  # noqa: E731
        k.registers, k.local, k.stack = number("registers"), number("bytes smem"), number("bytes stack frame")
        k.spills = number("bytes spill stores") + number("bytes spill loads")
        found[name] = k
    return found


# ---- jobs ---------------------------------------------------------------------------------------------------------------

# What the code is when tiles lie within the matrices and channels come in fours ("whole"), and when they do not: the
# branches that are taken then are all that is left, so that instructions can be counted.
FORMS = {"": None, "whole": ("2", "2"), "gathered": ("0", "1")}


def specialised(text, form):
    if not FORMS[form]:
        return text
    a, b = FORMS[form]
    for pattern, replacement in ((r"\n#define A_WHOLE .*", f"\n#define A_WHOLE {a}"),
                                 (r"\n#define B_WHOLE .*", f"\n#define B_WHOLE {b}"),
                                 (r"\n#define PRODUCT_ACTIVATES 1", "\n#define PRODUCT_ACTIVATES 0"),
                                 (r"if \(count >= PIECE && aligned\)", "if (1)")):
        text, times = re.subn(pattern, replacement, text)
        if not times:
            sys.exit(f"found no {pattern} in the kernels; expected what decides which code runs")
    return text


def compile_all(tools, folder, wanted, archs, blockings, arguments):
    """{(arch, form): {kernel: Kernel}}; the forms for architectures whose instructions are counted."""
    sources, found = units(folder), {}

    def job(unit, form, arch):
        path = os.path.join(folder, f"{unit}{form}.{arch}.cl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(specialised(sources[unit], form))
        if arch.startswith("gfx"):
            return compile_amd(tools, arch, blockings["amdgcn"], path)
        return compile_nvidia(tools, {arch: archs[arch]}, blockings["nvptx"], path, arguments.nvdisasm)[arch]

    jobs = [(unit, "", arch) for arch in archs for unit in sources if unit in wanted]
    if not arguments.check:
        jobs += [(unit, form, arch) for arch in paper.counted()
                 for unit, form in (("conv", "whole"), ("conv", "gathered"), ("dense", "whole"))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (unit, form, arch), kernels in zip(jobs, pool.map(lambda j: job(*j), jobs)):
            found.setdefault((arch, form), {}).update(kernels)
    for kernels in found.values():
        for k in kernels.values():
            k.items = k.items or found[("gfx1030", "")][k.name].items
    return found


def spilling(found):
    """Lines: kernels of products that spill or have a stack."""
    names = [f"cornu_{kernel}" for unit, kernel in re.findall(r"\nKERNEL\((\w+), (\w+)\)", read_def())
             if unit in PRODUCTS]
    return [f"{arch} {k.name}: {k.spills} spills, {k.stack} bytes of stack" for (arch, form), kernels in found.items()
            for k in kernels.values() if not form and k.name in names and (k.spills or k.stack)]


def read_def():
    with open(PLUGIN + "/kernels/kernels.def", encoding="utf-8") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--launches", default=ROOT + "/build/release/tests/opencl_launches")
    parser.add_argument("--output", default=ROOT + "/docs/opencl-gpus.md")
    for tool in ("clang", "libclc", "ptxas", "ptxas-old", "nvdisasm"):
        parser.add_argument("--" + tool)
    arguments = parser.parse_args()
    try:
        tools, ptxas = newest_clang(arguments.clang, arguments.libclc), find_ptxas(arguments.ptxas)
        if not os.path.exists(arguments.launches):
            raise Missing(f"{arguments.launches} is not built (target opencl_launches)")
    except Missing as missing:
        print(f"opencl_gpus: left out: {missing}")
        return 77
    archs = {"sm_75": ptxas, "sm_90": ptxas, "gfx906": None, "gfx1030": None}
    if arguments.ptxas_old:
        archs = {"sm_61": arguments.ptxas_old} | archs
    if arguments.check:
        archs = {"sm_75": ptxas, "gfx1030": None}
    blockings = {target: launches(arguments.launches, vendor, 28)[0] for target, vendor in VENDORS.items()}
    wanted = PRODUCTS if arguments.check else re.findall(r"\nUNIT\((\w+)\)", read_def())
    with tempfile.TemporaryDirectory() as folder:
        found = compile_all(tools, folder, wanted, archs, blockings, arguments)
        names = {}
        for text in units(folder).values():
            names |= arguments_of(tools, folder, text, blockings["nvptx"])
    bad = spilling(found)
    print("\n".join(bad) or f"{sum(len(k) for k in found.values())} kernels, no spills in products")
    if arguments.check:
        return 1 if bad else 0
    versions = [run([tools[0], "--version"]).stdout.splitlines()[0],
                run([ptxas, "--version"]).stdout.strip().splitlines()[-1]]
    of_gpu = {gpu.name: launches(arguments.launches, gpu.vendor, gpu.units)[1] for gpu in paper.GPUS}
    with open(arguments.output, "w", encoding="utf-8") as file:
        file.write(paper.document(found, blockings, of_gpu, versions, names, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
