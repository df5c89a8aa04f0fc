"""Faults of the driver's ptxas, found on a GPU: random PTX whose results differ between the assembler's lowest
and its usual optimisation level.

A program is some instructions, of those that Mica writes, on special values that each of 256 threads loads,
on constants and on parameters of the kernel, some of them in a loop of few turns. The driver assembles it
twice, and both run. What differs is made smaller and printed, with the operands of the first thread that
differs. What a NaN consists of does not count.

  python3 tests/ptx/optimised_ptx.py --seconds 60 --seed 1
  python3 tests/ptx/optimised_ptx.py --assemble 100       no GPU: may ptxas take what is drawn?

Exit: 0 no differences, 1 some, 2 no GPU or no ptxas.
"""
import argparse
import ctypes
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

THREADS = 256
INPUTS = 6  # words of 64 bits that a thread loads
USUAL, LOWEST = 4, 0  # optimisation levels

# ---- kinds of values ------------------------------------------------------------------------------------
BITS = {"i16": 16, "i32": 32, "i64": 64, "f16": 16, "f32": 32, "f64": 64, "p": 1}
LETTER = {16: "h", 32: "r", 64: "d", 1: "p"}
FLOATS = {"f16": "e", "f32": "f", "f64": "d"}  # of struct


def bits_of(kind, value):
    return int.from_bytes(struct.pack("<" + FLOATS[kind], value), "little")


def special(kind, rng):
    """The bits of a value that is worth a try."""
    bits = BITS[kind]
    if kind in FLOATS:
        plain = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 0.1, -0.3, 2.7, 1e-3, 1000.0, float("inf"), float("-inf"),
                 float("nan")]
        large = {"f16": [65504.0, 2049.0, 6e-8], "f32": [59546840.0, 16777216.0, 3.4e38, 1e-45, 1.2e-38],
                 "f64": [9007199254740992.0, 1.7e308, 5e-324, 4294967296.5]}[kind]
        if rng.random() < 0.2:
            return rng.getrandbits(bits)
        return bits_of(kind, rng.choice(plain + large))
    if rng.random() < 0.2:
        return rng.getrandbits(bits)
    edge = rng.choice([0, 1 << (bits - 1), (1 << bits) - 1, 1 << rng.randrange(bits), rng.randrange(40), 255, 128, 32767])
    return (edge + rng.choice([0, 0, 0, 1, -1])) & ((1 << bits) - 1)


def constant(kind, bits):
    if kind == "f32":
        return f"0f{bits:08X}"
    if kind == "f64":
        return f"0d{bits:016X}"
    signed = bits - (1 << BITS[kind]) if bits >> (BITS[kind] - 1) else bits
    return str(signed)


UPPER_HALF = "{{ .reg .b16 %low, %high; mov.b32 {{%low, %high}}, {1}; mov.b16 {0}, %high; }}"

# ---- instructions: text, kind of the result, kinds of the operands; an operand in (): always a constant ---
def instructions():
    for f, bits in (("f32", 32), ("f64", 64)):
        for op in ("add.rn", "sub.rn", "mul.rn", "div.rn", "min", "max"):
            yield f"{op}.{f} {{0}}, {{1}}, {{2}};", f, (f, f)
        yield f"fma.rn.{f} {{0}}, {{1}}, {{2}}, {{3}};", f, (f, f, f)
        for op in ("sqrt.rn", "abs", "neg"):
            yield f"{op}.{f} {{0}}, {{1}};", f, (f,)
        for mode in ("rmi", "rpi", "rni", "rzi"):
            yield f"cvt.{mode}.{f}.{f} {{0}}, {{1}};", f, (f,)
        for compare in ("lt", "le", "eq", "neu", "gt", "ge"):
            yield f"setp.{compare}.{f} {{0}}, {{1}}, {{2}};", "p", (f, f)
        for integer in ("s16", "u16", "s32", "u32", "s64", "u64"):
            yield f"cvt.rn.{f}.{integer} {{0}}, {{1}};", f, ("i" + integer[1:],)
            yield f"cvt.rzi.{integer}.{f} {{0}}, {{1}};", "i" + integer[1:], (f,)
        yield f"mov.b{bits} {{0}}, {{1}};", f, (f"i{bits}",)
        yield f"selp.b{bits} {{0}}, {{1}}, {{2}}, {{3}};", f, (f, f, "p")
    for op in ("min.NaN", "max.NaN"):
        yield f"{op}.f32 {{0}}, {{1}}, {{2}};", "f32", ("f32", "f32")
    for op in ("add.rn", "sub.rn", "mul.rn", "min.NaN", "max.NaN"):
        yield f"{op}.f16 {{0}}, {{1}}, {{2}};", "f16", ("f16", "f16")
    yield "fma.rn.f16 {0}, {1}, {2}, {3};", "f16", ("f16", "f16", "f16")
    yield "cvt.rn.f16.f32 {0}, {1};", "f16", ("f32",)
    yield "cvt.f32.f16 {0}, {1};", "f32", ("f16",)
    yield "cvt.rn.f32.f64 {0}, {1};", "f32", ("f64",)
    yield "cvt.f64.f32 {0}, {1};", "f64", ("f32",)
    for bits in (16, 32, 64):
        i = f"i{bits}"
        for op in ("add.s", "sub.s", "mul.lo.s", "min.s", "min.u", "max.s", "max.u", "and.b", "or.b", "xor.b"):
            yield f"{op}{bits} {{0}}, {{1}}, {{2}};", i, (i, i)
        if bits > 16:  # Mica divides narrower numbers in 32 bits
            for op in ("div.s", "rem.s", "div.u", "rem.u"):  # by what is neither 0 nor -1
                yield f"{op}{bits} {{0}}, {{1}}, {{2}};", i, (i, ("divisor", i))
                yield (f"{{{{ .reg .b{bits} %by; and.b{bits} %by, {{2}}, 65535; or.b{bits} %by, %by, 2; {op}{bits} {{0}}, {{1}}, %by; }}}}",
                       i, (i, i))
                yield (f"{{{{ .reg .b{bits} %by; shl.b{bits} %by, {{2}}, 1; or.b{bits} %by, %by, 3; and.b{bits} %by, %by, -9; "
                       f"{op}{bits} {{0}}, {{1}}, %by; }}}}", i, (i, i))
        for op in ("shl.b", "shr.s", "shr.u"):
            yield f"{op}{bits} {{0}}, {{1}}, {{2}};", i, (i, ("amount", bits))
            # Never by more than the value has, as in Mica: the driver's levels differ there for 16 bits.
            yield (f"{{{{ .reg .b32 %by; and.b32 %by, {{2}}, {bits - 1}; {op}{bits} {{0}}, {{1}}, %by; }}}}", i, (i, "i32"))
        yield f"not.b{bits} {{0}}, {{1}};", i, (i,)
        yield f"mad.lo.s{bits} {{0}}, {{1}}, {{2}}, {{3}};", i, (i, i, i)
        yield f"selp.b{bits} {{0}}, {{1}}, {{2}}, {{3}};", i, (i, i, "p")
        for sign in "su":
            for compare in ("lt", "le", "eq", "ne", "gt", "ge"):
                yield f"setp.{compare}.{sign}{bits} {{0}}, {{1}}, {{2}};", "p", (i, i)
        if bits < 64:
            for sign in "su":
                yield f"mul.wide.{sign}{bits} {{0}}, {{1}}, {{2}};", f"i{2 * bits}", (i, i)
        if bits > 16:
            for op in ("mul.hi.s", "mul.hi.u"):
                yield f"{op}{bits} {{0}}, {{1}}, {{2}};", i, (i, i)
            # A signed field of 32 bits Mica takes by prmt where floats are made of unsigned words.
            for sign in "u" if bits == 32 else "su":
                yield f"bfe.{sign}{bits} {{0}}, {{1}}, {{2}}, {{3}};", i, (i, ("field", 0), ("field", 1))
            yield f"popc.b{bits} {{0}}, {{1}};", "i32", (i,)
            yield f"clz.b{bits} {{0}}, {{1}};", "i32", (i,)
    for to in (16, 32, 64):
        for of in (16, 32, 64):
            for sign in "su":
                if to != of:
                    yield f"cvt.{sign}{to}.{sign}{of} {{0}}, {{1}};", f"i{to}", (f"i{of}",)
        for sign in "su":
            yield f"cvt.{sign}{to}.{sign}8 {{0}}, {{1}};", f"i{to}", ("i32" if to < 64 else "i64",)
    yield "prmt.b32 {0}, {1}, {2}, {3};", "i32", ("i32", "i32", ("selector", 0))
    for op in ("shf.l.wrap", "shf.r.wrap", "shf.l.clamp", "shf.r.clamp"):
        yield f"{op}.b32 {{0}}, {{1}}, {{2}}, {{3}};", "i32", ("i32", "i32", ("amount", 32))
    yield UPPER_HALF, "i16", ("i32",)
    yield "mov.b32 {0}, {{{1}, {2}}};", "i32", ("i16", "i16")
    yield "mov.b64 {0}, {{{1}, {2}}};", "i64", ("i32", "i32")
    for op in ("and", "or", "xor"):
        yield f"{op}.pred {{0}}, {{1}}, {{2}};", "p", ("p", "p")


ALL = list(instructions())
NEVER_CONSTANT = ("p", "i16", "f16")  # as operands, where PTX takes registers alone or says them otherwise


class Program:
    """Values 0 to INPUTS * 3 - 1 are loads, of 16, 32 and 64 bits of each word; then three parameters and the
    loop's counter; then one of each instruction."""

    def __init__(self, rng):
        self.turns = rng.choice([1, 1, 2, 3])
        self.loads = [rng.choice(["", ".nc"]) for _ in range(INPUTS)]
        self.kinds = []
        for k in range(INPUTS):
            floats = k % 2 == 1
            self.kinds += ["f16", "f32", "f64"] if floats else ["i16", "i32", "i64"]
        self.kinds += ["i32", "i64", "f32", "i32"]
        self.first = len(self.kinds)
        self.body = []  # (text, operands): numbers of values, or texts
        for _ in range(rng.randrange(8, 48)):
            text, kind, wanted = rng.choice(ALL)
            operands = [self.operand(rng, of) for of in wanted]
            if None in operands or (text == UPPER_HALF and self.extends(operands[0])):
                continue
            self.body.append((text, operands))
            self.kinds.append(kind)
        self.stored = [self.first + i for i in range(len(self.body)) if rng.random() < 0.6 or i + 1 == len(self.body)]

    def extends(self, value):
        """A known fault, which LLVM leaves nothing to: the upper half of 16 bits that cvt.u32.u16 made 32."""
        return value >= self.first and self.body[value - self.first][0].startswith("cvt.u32.u16")

    def operand(self, rng, wanted):
        if isinstance(wanted, tuple):
            what, of = wanted
            if what == "amount":
                return str(rng.choice([0, 1, 7, 8, 15, 16, 24, 31, 32, 33, 63, of - 1, rng.randrange(of)]) % of)
            if what == "field":
                return str(rng.choice([0, 8, 16, 24, 4]) if of == 0 else rng.choice([8, 16, 4, 1]))
            if what == "selector":  # a lowest byte that is a sign, which Mica never asks for, is taken for 0
                if rng.random() < 0.5:
                    return rng.choice(["0x8880", "0x9991", "0xaaa2", "0xbbb3", "0x9910", "0xbb32", "0x7710", "0x7732"])
                return str(sum(rng.choice([0, 1, 2, 3, 4, 5, 8, 9, 10, 11] if i > 0 else [0, 1, 2, 3, 4, 5]) << (4 * i)
                               for i in range(4)))
            return str(rng.choice([2, 3, 7, 10, 16, 255, 1000, -3, -8]))
        if wanted not in NEVER_CONSTANT and rng.random() < 0.3:
            return constant(wanted, special(wanted, rng))
        fits = [v for v, kind in enumerate(self.kinds) if kind == wanted]
        if not fits:
            return None
        return rng.choice(fits[-6:] if rng.random() < 0.7 else fits)

    def register(self, value):
        return f"%{LETTER[BITS[self.kinds[value]]]}{value}"

    def results(self):
        return [v for v in self.stored if self.kinds[v] != "p"]

    def ptx(self):
        lines = [".version 7.8", ".target sm_90", ".address_size 64",
                 ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 a, .param .u64 b, .param .f32 c)", "{"]
        count = len(self.kinds)
        lines += [f".reg .b16 %h<{count}>;", f".reg .b32 %r<{count}>;", f".reg .b64 %d<{count}>;",
                  f".reg .pred %p<{count}>;", ".reg .pred %again;", ".reg .b32 %t, %x<4>;", ".reg .b64 %in, %out, %at;",
                  "mov.u32 %t, %tid.x;", "ld.param.b64 %in, [in];", "ld.param.b64 %out, [out];",
                  "mul.wide.u32 %at, %t, 8;", "add.s64 %in, %in, %at;", "add.s64 %out, %out, %at;"]
        for k in range(INPUTS):
            at = k * THREADS * 8
            for j, bits in enumerate((16, 32, 64)):
                lines.append(f"ld.global{self.loads[k]}.b{bits} {self.register(3 * k + j)}, [%in+{at}];")
        a = 3 * INPUTS
        lines += [f"ld.param.b32 {self.register(a)}, [a];", f"ld.param.b64 {self.register(a + 1)}, [b];",
                  f"ld.param.b32 {self.register(a + 2)}, [c];", f"mov.b32 {self.register(a + 3)}, 0;", "L:"]
        for i, (text, operands) in enumerate(self.body):
            names = [self.register(o) if isinstance(o, int) else o for o in operands]
            lines.append(text.format(self.register(self.first + i), *names))
        for v in self.results():
            lines.append(f"st.global.b{BITS[self.kinds[v]]} [%out], {self.register(v)};")
            lines.append(f"add.s64 %out, %out, {THREADS * 8};")
        counter = self.register(a + 3)
        lines += [f"add.s32 {counter}, {counter}, 1;", f"setp.lt.s32 %again, {counter}, {self.turns};", "@%again bra L;",
                  "ret;", "}"]
        return "\n".join(lines) + "\n"

    def without(self, index):
        """The program without one instruction; None if another reads it."""
        gone = self.first + index
        if any(gone in operands for _, operands in self.body):
            return None
        def moved(value):
            return value - 1 if isinstance(value, int) and value > gone else value
        other = Program.__new__(Program)
        other.turns, other.loads, other.first = self.turns, self.loads, self.first
        other.kinds = self.kinds[:gone] + self.kinds[gone + 1:]
        other.body = [(text, [moved(o) for o in operands])
                      for i, (text, operands) in enumerate(self.body) if i != index]
        other.stored = [moved(v) for v in self.stored if v != gone]
        return other

    def storing(self, values):
        other = Program.__new__(Program)
        other.__dict__ = dict(self.__dict__, stored=list(values))
        return other


# ---- the driver -----------------------------------------------------------------------------------------
class Gpu:
    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)
        self.memory = {}

    def call(self, name, *args):
        result = getattr(self.lib, name)(*args)
        if result != 0:
            raise RuntimeError(f"{name} failed with code {result}")

    def buffer(self, name, size):
        known = self.memory.get(name)
        if known is None or known[1] < size:
            pointer = ctypes.c_uint64()
            self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
            known = self.memory[name] = (pointer, size)
        return known[0]

    def assemble(self, ptx, level):
        options = (ctypes.c_int * 1)(7)  # CU_JIT_OPTIMIZATION_LEVEL
        values = (ctypes.c_void_p * 1)(level)
        link, text = ctypes.c_void_p(), ptx.encode()
        self.call("cuLinkCreate_v2", 1, options, values, ctypes.byref(link))
        self.call("cuLinkAddData_v2", link, 1, text, ctypes.c_size_t(len(text) + 1), b"k.ptx", 0, None, None)
        code, size, module = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p()
        self.call("cuLinkComplete", link, ctypes.byref(code), ctypes.byref(size))
        self.call("cuModuleLoadData", ctypes.byref(module), code)
        self.call("cuLinkDestroy", link)
        return module

    def run(self, program, level, data, params):
        size = max(1, program.turns * len(program.results())) * THREADS * 8
        given, out = self.buffer("in", len(data)), self.buffer("out", size)
        self.call("cuMemcpyHtoD_v2", given, data, ctypes.c_size_t(len(data)))
        self.call("cuMemsetD8_v2", out, ctypes.c_ubyte(0), ctypes.c_size_t(size))
        module, function = self.assemble(program.ptx(), level), ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
        args = [given, out, ctypes.c_uint32(params[0]), ctypes.c_uint64(params[1]), ctypes.c_uint32(params[2])]
        pointers = (ctypes.c_void_p * len(args))(*[ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in args])
        self.call("cuLaunchKernel", function, 1, 1, 1, THREADS, 1, 1, 0, None, pointers, None)
        self.call("cuCtxSynchronize")
        found = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", found, out, ctypes.c_size_t(size))
        self.call("cuModuleUnload", module)
        return found.raw


def is_nan(kind, bits):
    if kind not in FLOATS:
        return False
    value, = struct.unpack("<" + FLOATS[kind], bits.to_bytes(BITS[kind] // 8, "little"))
    return value != value


def difference(gpu, program, data, params):
    """(value, turn, thread, usual, lowest) of the first difference, or None."""
    usual, lowest = (gpu.run(program, level, data, params) for level in (USUAL, LOWEST))
    if usual == lowest:
        return None
    results = program.results()
    for place in range(program.turns * len(results)):
        value = results[place % len(results)]
        kind, size = program.kinds[value], BITS[program.kinds[value]] // 8
        for thread in range(THREADS):
            at = (place * THREADS + thread) * 8
            a, b = (int.from_bytes(of[at:at + size], "little") for of in (usual, lowest))
            if a != b and not (is_nan(kind, a) and is_nan(kind, b)):
                return value, place // len(results), thread, a, b
    return None


def smaller(gpu, program, data, params):
    found = difference(gpu, program, data, params)
    progress = True
    while progress:
        progress = False
        tries = [program.storing(v for v in program.stored if v != gone) for gone in program.stored]
        tries += [t for t in (program.without(i) for i in reversed(range(len(program.body)))) if t is not None]
        for other in tries:
            if not other.results():
                continue
            also = difference(gpu, other, data, params)
            if also is not None:
                program, found, progress = other, also, True
                break
    return program, found


def draw(seed):
    rng = random.Random(seed)
    program = Program(rng)
    words = []
    for k in range(INPUTS):
        kinds = program.kinds[3 * k:3 * k + 3]
        for _ in range(THREADS):
            kind = rng.choice(kinds)
            word = special(kind, rng)
            # The same bits from the bottom up, so that each width sees something of its own.
            words.append(word | (rng.getrandbits(64) & ~((1 << BITS[kind]) - 1)) if rng.random() < 0.3 else word)
    params = [special("i32", rng), special("i64", rng), special("f32", rng)]
    return program, struct.pack(f"<{len(words)}Q", *words), params


def assemble_only(count, seed):
    ptxas = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
    if ptxas is None:
        print("no ptxas")
        return 2
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        for i in range(count):
            text = draw(seed + i)[0].ptx()
            file.seek(0)
            file.truncate()
            file.write(text)
            file.flush()
            done = subprocess.run([ptxas, "-arch=sm_90", file.name, "-o", "/dev/null"], capture_output=True, text=True)
            if done.returncode != 0:
                print(f"seed {seed + i}:\n{text}{done.stderr}{done.stdout}")
                return 2
    print(f"{count} programs, all are taken")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=20, help="differences after which the search ends")
    parser.add_argument("--assemble", type=int, default=0, metavar="COUNT")
    options = parser.parse_args()
    if options.assemble:
        return assemble_only(options.assemble, options.seed)
    try:
        gpu = Gpu()
    except (OSError, RuntimeError) as error:
        print(f"no GPU: {error}")
        return 2
    end, seed, found = time.monotonic() + options.seconds, options.seed, 0
    while time.monotonic() < end and found < options.most:
        program, data, params = draw(seed)
        if program.results() and difference(gpu, program, data, params) is not None:
            found += 1
            program, (value, turn, thread, usual, lowest) = smaller(gpu, program, data, params)
            words = struct.unpack(f"<{INPUTS * THREADS}Q", data)
            print(f"---- seed {seed}: {program.register(value)} in turn {turn} of thread {thread} is {usual:#x} optimised, "
                  f"{lowest:#x} at level {LOWEST}; it loads "
                  f"{' '.join(hex(words[k * THREADS + thread]) for k in range(INPUTS))}, parameters "
                  f"{' '.join(hex(p) for p in params)}")
            body = program.ptx()
            print(body[body.index("L:"):], flush=True)
        seed += 1
    print(f"{seed - options.seed} programs, {found} differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
