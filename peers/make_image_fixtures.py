#!/usr/bin/env python3
"""Write what Pillow makes of small image files, and of resizing, as images.npz.

usage: make_image_fixtures.py [--seed N] [--output FOLDER]

The file in tests/fixtures was made with the default seed; tests/data/pillow_test.c reads it. Its
members (few, because a member costs more than a picture):

    cases           a line an image, as bytes: NAME FILE_BYTES HEIGHT WIDTH
    files           the image files, one after the other
    rgb, grey       what convert("RGB") and convert("L") give after exif_transpose, one after the other
    resize_cases    a line a picture: FILTER CHANNELS HEIGHT WIDTH NEW_HEIGHT NEW_WIDTH BEGIN
    resize_from     the pictures before (BEGIN is where in it),
    resize_to       those after, one after the other

Grey of 16 bits is the exception: Pillow saturates what is above 255, so that such pictures turn
white; here, as for 16-bit colours, the upper 8 bits are expected.
"""
import argparse
import io
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps

FILTERS = {"nearest": Image.Resampling.NEAREST, "bilinear": Image.Resampling.BILINEAR,
           "bicubic": Image.Resampling.BICUBIC, "box": Image.Resampling.BOX,
           "hamming": Image.Resampling.HAMMING, "lanczos": Image.Resampling.LANCZOS}
HEIGHT, WIDTH = 7, 10


class Files:
    def __init__(self):
        self.lines, self.files, self.rgb, self.grey = [], [], [], []

    def add(self, name, data, expected=None):
        image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
        rgb, grey = np.asarray(image.convert("RGB")), np.asarray(image.convert("L"))
        if expected is not None:
            grey, rgb = expected, np.repeat(expected[..., None], 3, 2)
        self.lines.append(f"{name} {len(data)} {grey.shape[0]} {grey.shape[1]}")
        self.files.append(np.frombuffer(data, np.uint8))
        self.rgb.append(rgb.ravel())
        self.grey.append(grey.ravel())

    def save(self, name, image, kind, expected=None, **options):
        stream = io.BytesIO()
        image.save(stream, kind, **options)
        self.add(name, stream.getvalue(), expected)


def exif(orientation):
    block = Image.Exif()
    block[0x0112] = orientation
    return block.tobytes()


def add_jpeg(f, rgb, smooth):
    f.save("jpeg", smooth, "JPEG", quality=90)
    f.save("jpeg-plain-sampling", smooth, "JPEG", quality=90, subsampling=0)
    f.save("jpeg-progressive", smooth, "JPEG", progressive=True)
    f.save("jpeg-grey", smooth.convert("L"), "JPEG")
    f.save("jpeg-cmyk", smooth.convert("CMYK"), "JPEG", quality=95)
    for orientation in range(1, 9):
        f.save(f"jpeg-turned-{orientation}", smooth, "JPEG", exif=exif(orientation))


def png_16(array):
    """A PNG of 16 bits RGB, which Pillow reads but does not write."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    height, width = array.shape[:2]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in array)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def add_png(f, rgb, deep, deep_grey, kinds):
    for mode, image in kinds.items():
        f.save(f"png-{mode}", image, "PNG")
    f.save("png-2-bits", rgb.quantize(4), "PNG", bits=2)
    f.save("png-clear-index", rgb.quantize(8), "PNG", transparency=3)
    f.save("png-turned", rgb, "PNG", exif=exif(6))
    f.save("png-16-bits-grey", Image.fromarray(deep_grey), "PNG", (deep_grey >> 8).astype(np.uint8))
    f.add("png-16-bits", png_16(deep))


def add_gif(f, rgb, kinds):
    f.save("gif", rgb.quantize(64), "GIF")
    f.save("gif-grey", kinds["L"], "GIF")
    f.save("gif-in-turn", rgb.quantize(16), "GIF", interlace=1)
    f.save("gif-clear", rgb.quantize(16), "GIF", transparency=2)
    f.save("gif-frames", rgb.quantize(16), "GIF", save_all=True, append_images=[kinds["L"]])
    stream = io.BytesIO()
    rgb.quantize(16).save(stream, "GIF", transparency=2)
    larger = bytearray(stream.getvalue())
    larger[6:10] = struct.pack("<HH", WIDTH + 3, HEIGHT + 2)  # the frame covers only a part
    f.add("gif-part", bytes(larger))


def bmp(header, data, size=None, palette=b"", masks=b""):
    at = 14 + len(header) + len(masks) + len(palette)
    return struct.pack("<2sIHHI", b"BM", at + len(data), 0, 0, at) + header + masks + palette + data


def bmp_header(width, height, bits, compression=0, colors=0):
    return struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, 0, 0, 0, colors, 0)


def add_bmp(f, rgb, kinds, random):
    for mode in ("1", "L", "P", "RGB", "RGBA"):
        f.save(f"bmp-{mode}", kinds[mode], "BMP")
    palette = random.integers(0, 256, (16, 4), np.uint8)
    palette[:, 3] = 0
    four = random.integers(0, 256, (3, 4), np.uint8).tobytes()
    f.add("bmp-4-bits", bmp(bmp_header(7, 3, 4, 0, 16), four, palette=palette.tobytes()))
    f.add("bmp-core", bmp(struct.pack("<IHHHH", 12, 7, 3, 1, 4), four, palette=palette[:, :3].tobytes()))
    two = random.integers(0, 256, (3, 12), np.uint8).tobytes()
    f.add("bmp-16-bits", bmp(bmp_header(6, 3, 16), two))
    masks = struct.pack("<III", 0xf800, 0x07e0, 0x001f)
    f.add("bmp-565", bmp(bmp_header(6, 3, 16, 3), two, masks=masks))
    f.add("bmp-top-down", bmp(bmp_header(4, -3, 24), two))
    many = random.integers(0, 256, (256, 4), np.uint8).tobytes()
    runs = bytes([3, 9, 0, 4, 1, 2, 3, 4, 0, 0, 0, 3, 5, 6, 7, 0, 4, 200, 0, 0, 7, 77, 0, 1])
    f.add("bmp-rle8", bmp(bmp_header(7, 3, 8, 1, 256), runs, palette=many))
    runs = bytes([3, 0x9a, 0, 4, 0x12, 0x34, 0, 0, 0, 3, 0x56, 0x70, 4, 0x21, 0, 0, 7, 0x78, 0, 1])
    f.add("bmp-rle4", bmp(bmp_header(7, 3, 4, 2, 16), runs, palette=palette.tobytes()))


def add_webp(f, rgb, smooth, kinds):
    f.save("webp", smooth, "WEBP", quality=90)
    f.save("webp-lossless", rgb, "WEBP", lossless=True)
    f.save("webp-alpha", kinds["RGBA"], "WEBP", lossless=True, exact=True)
    f.save("webp-lossy-alpha", smooth.convert("RGBA"), "WEBP", quality=90)
    f.save("webp-turned", smooth, "WEBP", exif=exif(8))
    f.save("webp-frames", smooth, "WEBP", save_all=True, append_images=[ImageOps.flip(smooth)], lossless=True)


def tiff(tags, blocks):
    """A TIFF of one page from {tag: value or list} and its strips or tiles, big-endian."""
    offsets, at = [], 8
    for block in blocks:
        offsets.append(at)
        at += len(block) + len(block) % 2
    tags = dict(tags)
    tags[324 if 322 in tags else 273] = offsets
    tags[325 if 322 in tags else 279] = [len(b) for b in blocks]
    entries, extra = b"", b""
    begin = at + 2 + 12 * len(tags) + 4
    for tag, value in sorted(tags.items()):
        value = value if isinstance(value, list) else [value]
        data = struct.pack(f">{len(value)}I", *value)
        if len(value) > 1:
            extra, data = extra + data, struct.pack(">I", begin + len(extra))
        entries += struct.pack(">HHI", tag, 4, len(value)) + data
    body = b"".join(b + b"\0" * (len(b) % 2) for b in blocks)
    return struct.pack(">2sHI", b"MM", 42, at) + body + struct.pack(">H", len(tags)) + entries + b"\0" * 4 + extra


def add_tiff(f, rgb, smooth, deep, deep_grey, kinds):
    for mode, image in kinds.items():
        f.save(f"tiff-{mode}", image, "TIFF")
    for compression in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
        f.save(f"tiff-{compression}", smooth, "TIFF", compression=compression)
    f.save("tiff-group4", kinds["1"], "TIFF", compression="group4")
    f.save("tiff-cmyk", rgb.convert("CMYK"), "TIFF")
    f.save("tiff-turned", rgb, "TIFF", tiffinfo={274: 5})
    f.save("tiff-pages", rgb, "TIFF", save_all=True, append_images=[kinds["L"]])
    f.save("tiff-16-bits-grey", Image.fromarray(deep_grey), "TIFF", (deep_grey >> 8).astype(np.uint8))
    size = {256: WIDTH, 257: HEIGHT}
    pixels, grey = np.asarray(rgb), np.asarray(kinds["L"])
    f.add("tiff-white-is-0", tiff({**size, 258: 8, 259: 1, 262: 0, 277: 1, 278: 3},
                                  [grey[i:i + 3].tobytes() for i in (0, 3, 6)]))
    f.add("tiff-16-bits", tiff({**size, 258: [16] * 3, 259: 1, 262: 2, 277: 3, 278: HEIGHT},
                               [deep.astype(">u2").tobytes()]))
    f.add("tiff-planes", tiff({**size, 258: [8] * 3, 259: 1, 262: 2, 277: 3, 278: HEIGHT, 284: 2},
                              [pixels[..., c].tobytes() for c in range(3)]))
    tile = np.zeros((16, 16, 3), np.uint8)
    tile[:HEIGHT, :WIDTH] = pixels
    f.add("tiff-tiles", tiff({**size, 258: [8] * 3, 259: 1, 262: 2, 277: 3, 322: 16, 323: 16}, [tile.tobytes()]))


def add_pnm(f, rgb, deep, kinds, random):
    bits = ["".join(random.choice(["0", "1"], 5)) for _ in range(3)]
    f.add("pbm-text", ("P1\n# a comment\n5 3\n" + "\n".join(bits)).encode())
    text = " ".join(str(v) for v in random.integers(0, 101, 15))
    f.add("pgm-text", f"P2 5 3 100 {text}\n".encode())
    text = " ".join(str(v) for v in random.integers(0, 256, 45))
    f.add("ppm-text", f"P3\n5 3\n255\n{text}\n".encode())
    f.save("pbm", kinds["1"], "PPM")
    f.save("pgm", kinds["L"], "PPM")
    f.save("ppm", rgb, "PPM")
    f.add("ppm-few-values", b"P6 5 3 31\n" + random.integers(0, 32, 45, np.uint8).tobytes())
    f.add("ppm-16-bits", f"P6 {WIDTH} {HEIGHT} 65535\n".encode() + deep.astype(">u2").tobytes())


def make_files(random):
    f = Files()
    y, x = np.mgrid[:HEIGHT * 2, :WIDTH * 2]
    smooth = Image.fromarray(np.stack([x * 12, y * 18, 255 - x * 6 - y * 4], 2).astype(np.uint8))
    rgb = Image.fromarray(random.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8))
    deep = random.integers(0, 65536, (HEIGHT, WIDTH, 3), np.uint16)
    rgba = Image.fromarray(random.integers(0, 256, (HEIGHT, WIDTH, 4), np.uint8))
    kinds = {"1": rgb.convert("1"), "L": rgb.convert("L"), "P": rgb.quantize(32),
             "RGB": rgb, "RGBA": rgba, "LA": rgba.convert("LA")}
    add_jpeg(f, rgb, smooth)
    add_png(f, rgb, deep, deep[..., 0].copy(), kinds)
    add_gif(f, rgb, kinds)
    add_bmp(f, rgb, kinds, random)
    add_webp(f, rgb, smooth, kinds)
    add_tiff(f, rgb, smooth, deep, deep[..., 0].copy(), kinds)
    add_pnm(f, rgb, deep, kinds, random)
    return f


def make_resized(random):
    lines, before, after, begin = [], [], [], 0
    for height, width, channels, new in ((23, 31, 3, (11, 13)), (9, 7, 3, (20, 12)), (12, 40, 1, (30, 9)),
                                         (16, 16, 3, (16, 5)), (16, 16, 1, (5, 16)), (64, 48, 1, (3, 1)),
                                         (1, 1, 3, (4, 3)), (5, 6, 1, (5, 6))):
        shape = (height, width, channels) if channels == 3 else (height, width)
        pixels = random.integers(0, 256, shape, np.uint8)
        before.append(pixels.ravel())
        for name, resampling in FILTERS.items():
            lines.append(f"{name} {channels} {height} {width} {new[0]} {new[1]} {begin}")
            after.append(np.asarray(Image.fromarray(pixels).resize((new[1], new[0]), resampling)).ravel())
        begin += pixels.size
    return lines, before, after


def text(lines):
    return np.frombuffer("".join(line + "\n" for line in lines).encode(), np.uint8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", default="tests/fixtures")
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    f = make_files(random)
    lines, before, after = make_resized(random)
    np.savez_compressed(f"{options.output}/images.npz", cases=text(f.lines), files=np.concatenate(f.files),
                        rgb=np.concatenate(f.rgb), grey=np.concatenate(f.grey), resize_cases=text(lines),
                        resize_from=np.concatenate(before), resize_to=np.concatenate(after))


main()
