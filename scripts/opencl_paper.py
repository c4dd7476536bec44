"""The model behind docs/opencl-gpus.md: occupancy, instructions of a loop, and the time of a launch on a GPU, on paper."""
import dataclasses
import math
import re

# ---- GPUs ---------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Gpu:
    """units: compute units (multiprocessors, Xe cores), each with so many lanes that multiply and add once a clock; bytes
    a clock of a unit: from local memory, from the cache that all share; ghz: boost; memory, cached: GB/s of memory and of
    the last cache, which holds `cache` bytes; latency: clocks of a load from memory; code: whose instructions count."""
    name: str
    vendor: str
    units: int
    lanes: int
    ghz: float
    memory: float
    cache: float
    cached: float
    local: int
    shared: int
    latency: int
    code: str

    def peak(self):
        return 2e9 * self.units * self.lanes * self.ghz


GPUS = [
    Gpu("GeForce MX150", "NVIDIA Corporation", 3, 128, 1.532, 48.06, 0.5e6, 147, 128, 32, 600, "nvidia"),
    Gpu("GeForce GTX 1080 Ti", "NVIDIA Corporation", 28, 128, 1.582, 484.4, 2.75e6, 1417, 128, 32, 600, "nvidia"),
    Gpu("Radeon RX 6600", "Advanced Micro Devices, Inc.", 28, 64, 2.491, 224, 32e6, 412.9, 128, 64, 700, "gfx1030"),
    Gpu("Arc A380", "Intel(R) Corporation", 8, 128, 2.05, 186, 4e6, 1050, 128, 64, 800, "gfx1030"),
]

# ---- occupancy ----------------------------------------------------------------------------------------------------------

# Of a multiprocessor: warps, groups, bytes of shared memory, bytes of them that each group loses.
NVIDIA = {"sm_61": (64, 32, 96 << 10, 0), "sm_75": (32, 16, 64 << 10, 0), "sm_90": (64, 32, 228 << 10, 1024)}
# Of a SIMD: waves, registers a lane, the step in which they are given; of a compute unit: SIMDs.
AMD = {"gfx906": (10, 256, 4, 4), "gfx1030": (16, 1024, 16, 2)}


def round_up(a, step):
    return -(-a // step) * step


def resident(k):
    """(work-groups on a compute unit at once, the most work-items that it takes)."""
    waves = -(-k.items // k.wave)
    if k.arch in AMD:
        most, registers, step, simds = AMD[k.arch]
        per_simd = min(most, registers // round_up(max(k.registers, 1), step))
        groups = min(per_simd * simds // waves, (64 << 10) // k.local if k.local else 1 << 10)
        return groups, most * simds * k.wave
    most, groups, shared, lost = NVIDIA[k.arch]
    per_quarter = 16384 // round_up(k.registers * 32, 256)
    groups = min(groups, min(most, 4 * per_quarter) // waves)
    if k.local:
        groups = min(groups, shared // round_up(k.local + lost, 256))
    return groups, most * 32


def occupancy(k):
    groups, most = resident(k)
    return groups * k.items / most


# ---- instructions of the loop ---------------------------------------------------------------------------------------------

SYNTAX = {  # label, target of a branch, instruction, multiply-adds, what else takes a lane's clock
    "amdgcn": (r"^(\.LBB\w+):", r"^\ts_c?branch\w* (\.LBB\w+)", r"^\t([a-z]\w+)", r"v_(fma|fmac|mac|fmaak|fmamk)_f32",
               r"v_"),
    "ptx": (r"^(\$L\w+):", r"^\t(?:@!?%p\d+ )?bra(?:\.uni)? \t?(\$L\w+)", r"^\t(?:@!?%p\d+ )?([a-z]\w*[.\w]*)",
            r"fma\.rn\.f32", r"(?!mov|cvta|ret)"),
    "sass": (r"^(\.L\w+):", r"BRA `\((\.L\w+)\)", r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\d+ )?([A-Z]\w*)", r"FFMA",
             r"(?!NOP)"),
}


@dataclasses.dataclass
class Code:
    """lines: (label, target, multiply-add?, other that counts?, local store bytes of a lane)"""
    lines: list

    def count(self, begin, end):
        fma = sum(line[2] for line in self.lines[begin:end])
        return fma, sum(line[3] for line in self.lines[begin:end])

    def loops(self):
        at = {line[0]: i for i, line in enumerate(self.lines) if line[0]}
        return [(at[line[1]], i + 1) for i, line in enumerate(self.lines) if line[1] in at and at[line[1]] <= i]


def instructions(text, syntax):
    label, target, instruction, fma, other = (re.compile(p) for p in SYNTAX[syntax])
    lines = []
    for line in text.splitlines():
        name, to, found = label.match(line), target.search(line), instruction.match(line)
        word = found.group(1) if found else ""
        is_fma = bool(fma.match(word))
        lines.append((name and name.group(1), to and to.group(1), is_fma,
                      bool(word) and not is_fma and bool(other.match(word))))
    return Code(lines)


@dataclasses.dataclass
class Loop:
    """Instructions of a work-item: others beside a multiply-add each, of four steps of k, of a tile, of all the rest."""
    fma: int  # of four steps
    inner: int
    outer: int
    rest: int


def loop_of(k, fma_of_step):
    """None where the code has not the expected form."""
    code = k.code
    loops = [(begin, end, *code.count(begin, end)) for begin, end in code.loops()]
    inner = [loop for loop in loops if loop[2] >= 4 * fma_of_step and
             not any(other != loop and other[0] >= loop[0] and other[1] <= loop[1] and other[2] >= 4 * fma_of_step
                     for other in loops)]
    if not inner:
        return None
    begin, end, fma, others = min(inner, key=lambda loop: loop[3] / loop[2])
    around = [loop for loop in loops if loop[0] <= begin and loop[1] >= end and loop[:2] != (begin, end)]
    unrolled = fma / (4 * fma_of_step)
    total = code.count(0, len(code.lines))[1]
    if not around:
        return Loop(4 * fma_of_step, round(others / unrolled), 0, total - others)
    outer = min(around, key=lambda loop: loop[1] - loop[0])
    copies = sum(loop[3] for loop in inner if loop[0] >= outer[0] and loop[1] <= outer[1])
    return Loop(4 * fma_of_step, round(others / unrolled), outer[3] - copies, total - outer[3])


# ---- tiles ----------------------------------------------------------------------------------------------------------------

def tile_of(kernel, blocking):
    """Rows and columns of a tile and of a work-item. Convolutions' gradients are in sliced-K: kernels/gemm_body.h."""
    m, n, rows, columns = (blocking[name] for name in ("GEMM_M", "GEMM_N", "ITEM_M", "ITEM_N"))
    shape = kernel.rsplit("_", 1)[1]
    return {"square": (m, n, rows, columns), "wide": (m // 2, 2 * n, rows, columns),
            "tall": (2 * m, n // 2, rows, columns), "narrow": (m, n // 2, rows, columns),
            "flat": (m // 2, n, rows, columns),
            "small": (m // 2, n // 2, rows if "conv_backward" in kernel else rows // 2, columns)}[shape]


def intensity(tile):
    """FLOPs a byte of a tile's numbers from the shared cache, and of a work-item's from local memory."""
    m, n, rows, columns = tile
    return 2 * m * n / (4 * (m + n)), 2 * rows * columns / (4 * (rows + columns))


def local_clocks(gpu, tile, step):
    """Of a unit's local memory for one k of a group, reading, and for one k of writing the tile. 128 bytes a clock; of
    NVIDIA's, a load of 16 bytes a lane takes 4 clocks a warp, and 2 where pairs of lanes read the same, as they do of A."""
    m, n, rows, columns = tile
    items = m * n // (rows * columns)
    a = rows / 2 if gpu.code == "nvidia" else rows
    return (items * 4 * (a + columns) + 4 * (m + n)) / gpu.local * step


# ---- the time of a launch -------------------------------------------------------------------------------------------------

@dataclasses.dataclass
class Time:
    seconds: float
    bound: str
    share: float = 0  # of its multiply-adds' time


def copy_time(gpu, dram, cached=0):
    """Bytes that memory moves, and those that stay in the last cache between two launches."""
    return dram / (gpu.memory * 1e9) + cached / (max(gpu.cached, gpu.memory) * 1e9)


def moved(gpu, size):
    """(from memory, from the cache) of scratch memory that a launch leaves to the next."""
    return (0, size) if size <= gpu.cache / 2 else (size, 0)


def divided(launch):
    """Tiles that go through all of k, tiles that do not, and into how many slices these are divided."""
    whole, sliced = launch["named"]["whole"], launch["named"]["sliced"]
    return whole, sliced, (launch["groups"][0] - whole) // sliced if sliced else 1


def group_clocks(gpu, tile, k, loop, depth, gemm_k, together):
    """Clocks of one group of a compute unit's, which has so many at once. In sliced-K each half of it takes half of the depth."""
    m, n, rows, columns = tile
    k_groups = k.items * rows * columns // (m * n)
    tiles_k, steps = -(-depth // (gemm_k * k_groups)), round_up(depth, 4 * k_groups)
    issue = steps / k_groups * (loop.fma + loop.inner) / 4 + tiles_k * loop.outer + loop.rest
    busy = max(k.items * issue / gpu.lanes, local_clocks(gpu, tile, steps))
    alone = busy * max(1, gpu.lanes / k.items) + tiles_k * gpu.latency
    return max(busy, alone / together)


def product_time(gpu, launch, k, form, blocking):
    a = launch["named"]
    tile = tile_of(launch["launch"], blocking)
    m, n, rows, columns = tile
    whole, sliced, slices, batch = *divided(launch), launch["groups"][1]
    tiles = whole + sliced
    size_m, size_n, size_k = a["m"], a["n"], a["k"]
    loop = loop_of(form, rows * columns)
    kinds = [(groups * batch, depth) for groups, depth in
             ((whole, size_k), (sliced * slices, min(a["slice_depth"], size_k))) if groups]
    rounds = [-(-groups // gpu.units) for groups, _ in kinds]
    together = max(1, min(sum(rounds), resident(k)[0]))
    compute = sum(count * group_clocks(gpu, tile, k, loop, depth, blocking["GEMM_K"], together)
                  for count, (_, depth) in zip(rounds, kinds)) / (gpu.ghz * 1e9)
    shared = sum(groups * depth for groups, depth in kinds) * 4 * (m + n) / (gpu.units * gpu.shared * gpu.ghz * 1e9)
    image, b = images(launch, a), 4 * size_k * size_n * batch
    matrix = 4 * size_m * size_k * batch if image is None else image
    rows_there = max(1, together * gpu.units // max(1, a["tiles_n"]))
    again = -(-(tiles // max(1, a["tiles_n"])) // rows_there) if b / batch > gpu.cache / 2 else 1
    c = 4 * size_m * size_n * batch / tiles
    scratch = launch["scratch"]
    inside = [moved(gpu, size) if is_scratch else (size, 0)
              for size, is_scratch in ((matrix, scratch[0]), (b * again, scratch[1]), (c * whole, scratch[2]),
                                       (c * sliced * slices, True))]
    memory = copy_time(gpu, sum(i[0] for i in inside), sum(i[1] for i in inside))
    seconds, bound = max((compute, "lanes"), (shared, "cache"), (memory, "memory"))
    flops = 2 * size_m * size_n * size_k * batch
    return Time(seconds, bound, flops / gpu.peak() / seconds)


def images(launch, a):
    """Bytes of the image that a convolution reads; None: it reads matrices."""
    if "window_height" not in a:
        return None
    positions = a["k"] if "weights" in launch["launch"] else a["m"]
    samples = positions // (a["window_rows"] * a["window_columns"])
    return 4 * samples * a["window_height"] * a["window_width"] * a["window_channels"]


def other_time(gpu, launch):
    """Launches that move numbers and compute little: what they read and write."""
    a, name = launch["named"], launch["launch"]
    chain = 0
    if "reduce_many" in name or "reduce_slices" in name:
        dram, cached = moved(gpu, 4 * a["slices"] * a["count"])
        dram += 4 * a["count"]
        chain = a["slices"] / 32 if "many" in name else a["slices"]
    elif "winograd_weights" in name:
        dram, cached = moved(gpu, 144 * a["in"] * a["out"])
        dram += 36 * a["in"] * a["out"]
    elif "winograd" in name:
        dram, cached = moved(gpu, 144 * a["count"] * a["channels"])
        dram += 64 * a["count"] * a["channels"]
    elif "column_sums_reduce" in name:
        dram = cached = 0
    elif "column_sums" in name:
        dram, cached = 4 * a["rows"] * a["columns"], 0
    else:
        return None
    # loads that follow each other, four of them under way at a time
    return Time(copy_time(gpu, dram, cached) + chain / 4 * gpu.latency / (gpu.ghz * 1e9), "memory")


def prepare(operation, arguments):
    """Name each launch's arguments; which of a product's A, B, C lie in scratch memory (Winograd's)."""
    for launch in operation["launches"]:
        names = arguments[launch["launch"]]
        launch["named"] = dict(zip(names, launch["arguments"]))
        launch["scratch"] = (operation["kernel"].endswith("winograd"),) * 3


@dataclasses.dataclass
class Expected:
    limit: float  # seconds: of the roofline
    limited_by: str
    seconds: float
    parts: list  # (launch, Time)


def expected(gpu, operation, found, blocking):
    arch = counted()[0 if gpu.code == "nvidia" else 1]
    parts = []
    for launch in operation["launches"]:
        k = found[(arch, "")][launch["launch"]]
        if "groups" in launch and "slice_depth" in launch["named"]:
            form = found[(arch, "gathered" if gathers(launch) else "whole")][launch["launch"]]
            parts.append((launch, product_time(gpu, launch, k, form, blocking)))
        else:
            parts.append((launch, other_time(gpu, launch)))
    flops, memory = operation["flops"] / gpu.peak(), operation["bytes"] / (gpu.memory * 1e9)
    return Expected(max(flops, memory), "FMA" if flops > memory else "memory",
                    sum(time.seconds for _, time in parts), parts)


def gathers(launch):
    """Are taps copied one by one (channels not in fours)?"""
    return launch["named"].get("window_channels", 4) % 4 != 0


def counted():
    """The architectures whose instructions stand for NVIDIA's four-wide multiprocessors, and for all others."""
    return ["sm_75", "gfx1030"]


# ---- the document ---------------------------------------------------------------------------------------------------------

LAUNCH = 5e-6  # seconds: about what a launch takes at least
ASKED = 0.7
TEXT = """# OpenCL kernels, compiled for GPUs and modelled
Made by `scripts/opencl_gpus.py`; do not edit. **Nothing below has run on a GPU.** The first table has the reports of these
compilers: {versions}. Drivers have their own compilers, which differ. The rest is computed from the compiled code and published
figures of four GPUs, by the model at the end.

## What the kernels take
Work-items per group and bytes of local memory; for each architecture, registers per work-item and occupancy (resident
work-items of a compute unit, as a share of the maximum). "spills" and "stack" are shown if there are any.{spills}

{resources}
## What the blocking gives
GEMM_M x GEMM_N x GEMM_K = {blocking}. FLOPs per byte that a tile reads from the cache shared by all compute units, and that a
work-item reads from its group's local memory; the share of multiply-adds among the instructions of the loop over k that occupy
a lane (including copies and addresses): {counted} and gfx1030.

{tiles}
## Workloads' products and convolutions, batch 32
Each cell: share of the roofline, expected microseconds, and the bound of the largest launch. The roofline is the larger of
FLOPs over the peak and bytes over the memory's bandwidth, both by the operation's definition (as `cornu explain` counts
them), so Winograd's algorithm may exceed 1. In parentheses: operations with a roofline below {launch:.0f} us; the launch itself takes
most of their time, and no kernel could come near. {summary}

Tiles: the number that run over all of k; after "+", or with slices: the number that are divided, so that the last round of
work-groups keeps all compute units busy, or so that there are enough work-groups. Gradients of convolutions are in sliced-K:
twice as many work-items share a tile's k, and give as many partial sums.

{workloads}{model}"""

MODEL = """## The model
| GPU | compute units x lanes | GHz | TFLOP/s | memory GB/s | last cache: MB, GB/s | bytes a clock of a unit: local memory, cache | latency, clocks |
|---|---|---|---|---|---|---|---|
{gpus}
Clocks, bandwidths and caches: TechPowerUp's GPU database; the Infinity Cache's 412.9 GB/s is AMD's "effective bandwidth".
Limits of occupancy: "Technical Specifications per Compute Capability" of NVIDIA's CUDA C++ Programming Guide; for AMD, registers
and waves as in LLVM's AMDGPU back end (AMDGPUBaseInfo.cpp). Local memory: NVIDIA 128 bytes per clock, 4 clocks for a load of 16
bytes per lane, 2 if pairs of lanes read the same address (NVIDIA's forum, "Unexpected shared memory bank conflict"); AMD 128 bytes
per clock and compute unit (RDNA white paper); Intel a data port of 128 bytes per cycle (oneAPI GPU Optimization Guide, "Xe GPU
architecture"). Pascal's cache: 32 bytes per clock and multiprocessor, measured by Jia et al. on a P4; AMD's and Intel's 64 are
assumed. Latencies are round figures. As there is no offline compiler of Intel's here, the A380 uses the instructions and the
occupancy of gfx1030's code.

The time of a launch is the largest of
- **lanes**: rounds x max(busy, alone / together), separately for whole and for divided tiles. rounds = groups / compute units,
  rounded up, so that the last wave's tail counts. busy = the larger of a group's instructions over the lanes, and the clocks of
  its local memory (instructions are counted in the code: the loop over k with the branches for these sizes, its copies, begin
  and end). alone = busy, counting idle lanes if a group has fewer work-items than the unit has lanes, plus one latency per tile
  of k (two tiles in sliced-K). together = groups on a unit, limited by their number and by occupancy;
- **cache**: the bytes of the tiles over the shared cache's bandwidth;
- **memory**: A, B and C once each, an image once; B once per wave of rows of tiles if it is larger than half of the last-level
  cache; C once per slice of k. Scratch data for the next launch (slices, Winograd's transforms) moves at the cache's bandwidth if
  it is at most half of the cache.

Launches run one after another: the reduction of slices, the bias's column sums and Winograd's transforms are added, with their
bytes, and with one latency for every four loads of a chain.
"""


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def resource_cell(k):
    groups, _ = resident(k)
    extra = "".join(f", {n} {what}" for n, what in ((k.spills, "spills"), (k.stack, "stack")) if n)
    return f"{k.registers}, {100 * occupancy(k):.0f} %{extra}" if groups else f"{k.registers}, none fits"


def resources(found, names):
    archs = [arch for arch, form in found if not form]
    rows = []
    for name in names:
        of = [found[(arch, "")][name] for arch in archs if name in found[(arch, "")]]
        if of:
            rows.append([name.removeprefix("cornu_"), str(of[0].items), str(max(k.local for k in of)),
                         *(resource_cell(k) for k in of)])
    return table(["kernel", "work-items", "local bytes", *archs], rows)


def tiles(found, blocking, names):
    archs = counted()
    rows = []
    for name in names:
        if not name.endswith(("_square", "_wide", "_tall", "_narrow", "_flat", "_small")):
            continue
        tile = tile_of(name, blocking)
        shared, local = intensity(tile)
        cells = []
        for form in ("whole", "gathered"):
            for arch in archs:
                if name not in found.get((arch, form), {}):
                    continue
                loop = loop_of(found[(arch, form)][name], tile[2] * tile[3])
                fma = loop.fma * blocking["GEMM_K"] / 4
                cells.append(f"{fma / (fma + loop.inner * blocking['GEMM_K'] / 4 + loop.outer):.2f}")
        rows.append([name.removeprefix("cornu_"), f"{tile[0]} x {tile[1]}", f"{tile[2]} x {tile[3]}", f"{shared:.1f}",
                     f"{local:.2f}", " ".join(cells[:2]), " ".join(cells[2:])])
    return table(["kernel", "tile", "work-item", "FLOPs a byte, cache", "local memory", "multiply-adds, whole tiles",
                  "gathered one by one"], rows)


def is_product(operation):
    return operation["operation"].startswith(("dense_", "conv2d_"))


def sizes(operation):
    for launch in operation["launches"]:
        a = launch["named"]
        if "slice_depth" in a:
            batch = f"{launch['groups'][1]} x " if launch["groups"][1] > 1 else ""
            return f"{batch}{a['m']} x {a['n']} x {a['k']}"
    return ""


def how(operation):
    """The tiles that an operation's first product is made of."""
    for launch in operation["launches"]:
        if "slice_depth" in launch["named"]:
            (whole, sliced, slices), batch = divided(launch), launch["groups"][1]
            tiles = f"{whole * batch}" if whole else ""
            if sliced:
                tiles += f"{' + ' if whole else ''}{sliced * batch}" + (f" x {slices} slices" if slices > 1 else "")
            return f"{launch['launch'].rsplit('_', 1)[1]}, {tiles}"
    return ""


def cell(e):
    share = e.limit / e.seconds
    bound = max(e.parts, key=lambda part: part[1].seconds)[1].bound
    text = f"{share:.2f}"
    if e.limit < LAUNCH:
        text = f"({text})"
    elif share < ASKED:
        text = f"**{text}**"
    return f"{text}, {1e6 * e.seconds:.0f} us, {bound}"


def workload_tables(found, blockings, of_gpu, arguments):
    text, below, count = "", [], 0
    gpus = list(GPUS)
    for workload in of_gpu[gpus[0].name]:
        rows = []
        for i, operation in enumerate(of_gpu[gpus[0].name][workload]):
            if not is_product(operation):
                continue
            row = [f"{operation['number']} {operation['operation']} {operation['layer']}"]
            for gpu in gpus:
                there = of_gpu[gpu.name][workload][i]
                prepare(there, arguments)
                blocking = blockings["nvptx" if gpu.code == "nvidia" else "amdgcn"]
                e = expected(gpu, there, found, blocking)
                row.append(f"{how(there)}: {cell(e)}")
                if e.limit >= LAUNCH:
                    count += 1
                    if e.limit / e.seconds < ASKED:
                        below.append(f"{workload} {row[0]} on {gpu.name} ({e.limit / e.seconds:.2f})")
            rows.append([row[0], sizes(of_gpu[gpus[0].name][workload][i]), *row[1:]])
        text += f"### {workload}\n" + table(["operation", "product, m x n x k", *(gpu.name for gpu in gpus)], rows) + "\n"
    return text, below, count


def document(found, blockings, of_gpu, versions, arguments, spilling):
    names = list(found[("gfx1030", "")])
    blocking = blockings["nvptx"]
    text, below, count = workload_tables(found, blockings, of_gpu, arguments)
    summary = f"Of {count} others {count - len(below)} are at {ASKED} or more"
    summary += "; below: " + "; ".join(below) + "." if below else "."
    spills = " In GEMM, Winograd and convolutions: " + ("; ".join(spilling) or "none") + "."
    gpus = "".join(f"| {g.name} | {g.units} x {g.lanes} | {g.ghz} | {g.peak() / 1e12:.2f} | {g.memory:g} | "
                   f"{g.cache / 1e6:g}, {g.cached:g} | {g.local}, {g.shared} | {g.latency} |\n" for g in GPUS)
    return TEXT.format(versions="; ".join(versions),
                       resources=resources(found, names), tiles=tiles(found, blocking, names),
                       spills=spills, launch=1e6 * LAUNCH, summary=summary,
                       blocking=" x ".join(str(blocking[n]) for n in ("GEMM_M", "GEMM_N", "GEMM_K")), counted=f"{counted()[0]}'s",
                       workloads=text, model=MODEL.format(gpus=gpus))
