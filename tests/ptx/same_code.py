"""Faults of ptxas, found without a GPU: two programs that mean different things and become the same machine
code, so that one of the two is wrong.

A program takes a part out of a word (of its bytes, its halves, its magnitude) and uses it (as a float, in a
shift, a comparison, a product). All pairs of the two are assembled, and what each gives for some words is
worked out here. That is how ptxas was seen to convert signed bytes as such where the conversion says
unsigned (docs/testing.md).

  python3 tests/ptx/same_code.py                       for sm_90, with the ptxas that is found
  python3 tests/ptx/same_code.py --ptxas FILE sm_100 sm_120

Exit: 0 nothing but faults around which Mica writes its code, 1 others, 2 no ptxas or PTX that it refuses.
"""
import argparse
import collections
import fractions
import itertools
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

WORD, LONG = (1 << 32) - 1, (1 << 64) - 1
OTHER = 0xFFFFFFF5  # the other operand of those that have two
BATCH = 800  # programs in one file

# What is known, and avoided by codegen/llvm/rewrites/avoid_ptxas_faults: a part of the word, and its use.
KNOWN = (("bfe.s32", "float of unsigned"), ("abs.s32", ""))


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def single(value):
    """An integer as f32, to nearest even."""
    if abs(value) < 1 << 24:
        return float(value)
    unit = 1 << (abs(value).bit_length() - 24)
    return float(round(fractions.Fraction(value, unit)) * unit)


# ---- parts of a word: instructions from %word to %part, and what they give, of 32 bits ----------------------
def parts():
    for at, bits in itertools.product((0, 4, 8, 16, 24), (1, 4, 8, 16, 24)):
        if at + bits > 32:
            continue
        yield (f"bfe.s32 of {bits} bits at {at}", f"bfe.s32 %part, %word, {at}, {bits};",
               lambda w, a=at, b=bits: signed(w >> a, b))
        yield (f"bfe.u32 of {bits} bits at {at}", f"bfe.u32 %part, %word, {at}, {bits};",
               lambda w, a=at, b=bits: (w >> a) & ((1 << b) - 1))
    for byte in range(4):
        yield (f"prmt, signed byte {byte}", f"prmt.b32 %part, %word, 0, 0x{0x1110 * (8 + byte) + byte:x};",
               lambda w, b=byte: signed(w >> (8 * b), 8))
        yield (f"prmt, byte {byte}", f"prmt.b32 %part, %word, 0, 0x444{byte};", lambda w, b=byte: (w >> (8 * b)) & 255)
    for bits in (8, 16):
        yield f"cvt.s32.s{bits}", f"cvt.s32.s{bits} %part, %word;", lambda w, b=bits: signed(w, b)
        yield f"cvt.u32.u{bits}", f"cvt.u32.u{bits} %part, %word;", lambda w, b=bits: w & ((1 << b) - 1)
    for by in (8, 16, 24):
        yield f"shr.s32 by {by}", f"shr.s32 %part, %word, {by};", lambda w, b=by: signed(w, 32) >> b
        yield f"shr.u32 by {by}", f"shr.u32 %part, %word, {by};", lambda w, b=by: w >> b
    halves = "{{ .reg .b16 low, high; mov.b32 {{low, high}}, %word; {} }}".format
    yield "upper half, signed", halves("cvt.s32.s16 %part, high;"), lambda w: signed(w >> 16, 16)
    yield "upper half", halves("cvt.u32.u16 %part, high;"), lambda w: w >> 16
    yield "upper half's signed byte", halves("cvt.s32.s8 %part, high;"), lambda w: signed(w >> 16, 8)
    yield "half by shr.s16", halves("shr.s16 low, low, 8; cvt.s32.s16 %part, low;"), lambda w: signed(w >> 8, 8)
    yield "half by shr.u16", halves("shr.u16 low, low, 8; cvt.u32.u16 %part, low;"), lambda w: (w >> 8) & 255
    yield ("half by shr.s16, extended by zeros", halves("shr.s16 low, low, 8; cvt.u32.u16 %part, low;"),
           lambda w: signed(w >> 8, 8) & 0xFFFF)
    yield ("signed byte in a half, extended by zeros", halves("cvt.s16.s8 low, low; cvt.u32.u16 %part, low;"),
           lambda w: signed(w, 8) & 0xFFFF)
    yield "and with 255", "and.b32 %part, %word, 255;", lambda w: w & 255
    yield "abs.s32", "abs.s32 %part, %word;", lambda w: abs(signed(w, 32))
    yield "neg.s32", "neg.s32 %part, %word;", lambda w: -w
    yield "the word", "mov.b32 %part, %word;", lambda w: w
    for name, then, value in (("masked", "and.b32 %part, %part, 65535;", lambda v: v & 0xFFFF),
                              ("shifted", "shl.b32 %part, %part, 4;", lambda v: v << 4),
                              ("negated", "neg.s32 %part, %part;", lambda v: -v),
                              ("reversed", "not.b32 %part, %part;", lambda v: ~v),
                              ("and one", "add.s32 %part, %part, 1;", lambda v: v + 1)):
        yield (f"signed byte 1, {name}", "bfe.s32 %part, %word, 8, 8; " + then,
               lambda w, f=value: f(signed(w >> 8, 8)))


# ---- uses: instructions from %part to memory at %to, and what they store -----------------------------------
def uses():
    # Of the register the conversion takes: its bits, and the text that fills it.
    words = {32: "", 16: "cvt.u16.u32 %half, %part; "}
    for kind, bits in itertools.product("su", (32, 16)):
        value = signed if kind == "s" else (lambda v, b: v & ((1 << b) - 1))
        of = "float of signed" if kind == "s" else "float of unsigned"
        register = "%part" if bits == 32 else "%half"
        yield (f"{of} {bits}, f32", f"{words[bits]}cvt.rn.f32.{kind}{bits} %f, {register}; st.global.f32 [%to], %f;",
               lambda v, b=bits, f=value: single(f(v, b)))
        yield (f"{of} {bits}, f64", f"{words[bits]}cvt.rn.f64.{kind}{bits} %d, {register}; st.global.f64 [%to], %d;",
               lambda v, b=bits, f=value: float(f(v, b)))
        yield (f"shr.{kind}{bits}", f"{words[bits]}shr.{kind}{bits} {register}, {register}, 3; "
               f"st.global.b{bits} [%to], {register};", lambda v, b=bits, f=value: (f(v, b) >> 3) & ((1 << b) - 1))
        yield (f"setp.gt.{kind}{bits}", f"{words[bits]}setp.gt.{kind}{bits} %yes, {register}, 100; "
               "selp.b32 %other, 1, 2, %yes; st.global.b32 [%to], %other;",
               lambda v, b=bits, f=value: 1 if f(v, b) > 100 else 2)
    for kind in "su":
        wide = {"s": lambda v: signed(v, 32), "u": lambda v: v}[kind]
        for to in "su":
            of = "signed" if to == "s" else "unsigned"
            yield (f"float of {of} 64 of {kind}32",
                   f"cvt.{kind}64.{kind}32 %l, %part; cvt.rn.f32.{to}64 %f, %l; st.global.f32 [%to], %f;",
                   lambda v, f=wide, t=to: single(f(v) if t == "s" else f(v) & LONG))
        yield f"64 bits of {kind}32", f"cvt.{kind}64.{kind}32 %l, %part; st.global.b64 [%to], %l;", \
            lambda v, f=wide: f(v) & LONG
        yield f"mul.wide.{kind}32", f"mul.wide.{kind}32 %l, %part, %other; st.global.b64 [%to], %l;", \
            lambda v, f=wide: (f(v) * f(OTHER)) & LONG
        yield f"mul.hi.{kind}32", f"mul.hi.{kind}32 %part, %part, %other; st.global.b32 [%to], %part;", \
            lambda v, f=wide: ((f(v) * f(OTHER)) >> 32) & WORD
        yield f"max.{kind}32", f"max.{kind}32 %part, %part, %other; st.global.b32 [%to], %part;", \
            lambda v, f=wide: max(f(v), f(OTHER)) & WORD
        yield f"min.{kind}32 with 9", f"min.{kind}32 %part, %part, 9; st.global.b32 [%to], %part;", \
            lambda v, f=wide: min(f(v), 9) & WORD
        yield f"rem.{kind}32 by 7", f"rem.{kind}32 %part, %part, 7; st.global.b32 [%to], %part;", \
            lambda v, f=wide: (abs(f(v)) % 7 * (-1 if f(v) < 0 else 1)) & WORD
        yield f"div.{kind}32 by 8", f"div.{kind}32 %part, %part, 8; st.global.b32 [%to], %part;", \
            lambda v, f=wide: (abs(f(v)) // 8 * (-1 if f(v) < 0 else 1)) & WORD
    yield "its sign", "setp.lt.s32 %yes, %part, 0; selp.b32 %other, 1, 2, %yes; st.global.b32 [%to], %other;", \
        lambda v: 1 if signed(v, 32) < 0 else 2
    for bits in (8, 16, 32):
        yield f"{bits} bits stored", f"st.global.b{bits} [%to], %part;", lambda v, b=bits: v & ((1 << b) - 1)


ENTRY = """.visible .entry p{number}(.param .u64 from, .param .u64 to, .param .u32 with) {{
  .reg .b32 %word, %part, %other; .reg .b16 %half; .reg .b64 %from, %to, %l; .reg .f32 %f; .reg .f64 %d; .reg .pred %yes;
  ld.param.b64 %from, [from]; ld.param.b64 %to, [to]; ld.param.b32 %other, [with]; ld.global.b32 %word, [%from];
  {part}
  {use}
  ret;
}}
"""


def code_of(programs, ptxas, arch, folder):
    """The machine code of each, by ptxas."""
    source, made = folder / "programs.ptx", folder / "programs.cubin"
    entries = (ENTRY.format(number=i, part=part[1], use=use[1]) for i, (part, use) in enumerate(programs))
    source.write_text(".version 8.0\n.target sm_75\n.address_size 64\n" + "".join(entries))  # or any later one
    done = subprocess.run([ptxas, "-arch=" + arch, source, "-o", made], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{ptxas} for {arch}: {done.stderr[:2000]}", file=sys.stderr)
        sys.exit(2)
    elf = made.read_bytes()  # 64 bits, little endian
    table, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    code = {}
    for name, _, _, _, at, length in sections:
        begin = sections[names][4] + name
        text = elf[begin:elf.index(b"\0", begin)].decode()
        if text.startswith(".text.p"):
            code[int(text[len(".text.p"):])] = elf[at:at + length]
    return [code[i] for i in range(len(programs))]


def is_known(programs):
    return any(part in p[0] and use in u[0] for p, u in programs for part, use in KNOWN)


def search(ptxas, arch, words):
    programs = list(itertools.product(parts(), uses()))
    same = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for begin in range(0, len(programs), BATCH):
            some = programs[begin:begin + BATCH]
            for program, code in zip(some, code_of(some, ptxas, arch, pathlib.Path(folder))):
                same[code].append(program)
    known = unknown = 0
    for group in same.values():
        meanings = collections.defaultdict(list)
        for program in group:
            part, use = program
            meanings[tuple(repr(use[2](part[2](w) & WORD)) for w in words)].append(program)
        if len(meanings) < 2:
            continue
        if is_known(group):
            known += 1
            continue
        unknown += 1
        print(f"{arch}: one code for")
        for alike in meanings.values():
            print("   " + "; or ".join(f"{part[0]}, {use[0]}" for part, use in alike[:3]))
    print(f"{arch}: {len(programs)} programs, {len(same)} codes; {known} that are known stand for several meanings, "
          f"{unknown} others")
    return unknown == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxas", default=shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas")
    parser.add_argument("arch", nargs="*", default=["sm_90"])
    options = parser.parse_args()
    if not pathlib.Path(options.ptxas).is_file():
        print(f"there is no {options.ptxas}: name the assembler with --ptxas", file=sys.stderr)
        return 2
    draw = random.Random(1)
    words = [0, 1, 0x7F, 0x80, 0x8000, 0x7FFF, 0x800000, 0x80000000, 0x7FFFFFFF, WORD, 0x80808080, 0x01020304,
             0xFFFEFDFC, 0x00FF00FF, 0xFF00FF00] + [draw.getrandbits(32) for _ in range(40)]
    return 0 if all([search(options.ptxas, arch, words) for arch in options.arch]) else 1


if __name__ == "__main__":
    sys.exit(main())
