#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tier: quick
"""check_sass.py: judge NVRTC builds by the machine code that they make of TileJIT's kernels. No GPU is needed.

    scripts/check_sass.py --nvrtc DIR --nvrtc LIB --arch sm_80 --arch sm_90 tests/compile/wrong_addresses/*.cu
    scripts/check_sass.py --nvrtc DIR --requests tests/compile/wrong_addresses/spilling.txt     lines for tilejit generate
    scripts/check_sass.py --images DUMP_DIR      NAME.cu with NAME.cubin, as --dump-dir of tilejit leaves them
    scripts/check_sass.py --self-test

Each text is compiled by each build for each target, with the options that the library uses, and disassembled by nvdisasm. Then
each address of global memory is asked which of the kernel's pointers went into it. A store's has exactly one in correct code,
through which the kernel may write: P, or its workspace. Another one, or none, means that a register held another variable's
value.

For that, each pointer is followed from the kernel's parameters through arithmetic, copies, spill slots and arrays of pointers,
over every path (a forward data flow). A predicate that is tested again on the same path counts: an address that is computed and
used under the same one is one value. What an instruction reads and writes is nvdisasm's word (its life ranges), so that no
table of instructions is needed.

Its limits: a wrong value into which no pointer went is not seen. Of a load it is only asked that some pointer went into its
address: loads may hang on a condition (C, where beta is not 0), and a compiler that spills tests it again under another name.
So a kernel that passes is not proven right. One that does not pass is wrong, or worth a close look.

Exit status: 0 nothing was found, 1 something was, 2 a mistake in the command line or a missing tool.
"""
import argparse
import ctypes
import multiprocessing
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

# ---- the kernel's parameters ------------------------------------------------------------------------------------------------

# stars: 1 a pointer, 2 an array of pointers; is_written: the matrix that it leads to is one that the kernel writes.
Param = namedtuple("Param", "name offset bytes stars is_written")

KERNEL = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\([^\n]*\)\s*)?(\w+)\(([^{]*)\)\s*\{')


def signatures(text):
    """{kernel: [(name, stars, is_written)]} of a CUDA text."""
    kernels = {}
    for name, params in KERNEL.findall(re.sub(r"//[^\n]*", "", text)):
        kernels[name] = [(re.search(r"(\w+)\s*$", p).group(1), p.count("*"), not p.strip().startswith("const"))
                         for p in params.split(",")]
    return kernels


def sections(elf):
    """{name: bytes} of a 64-bit ELF file."""
    table, = struct.unpack_from("<Q", elf, 40)
    entry_bytes, count, names = struct.unpack_from("<HHH", elf, 58)
    rows = [struct.unpack_from("<IIQQQQ", elf, table + i * entry_bytes) for i in range(count)]
    strings = rows[names][4]
    return {elf[strings + row[0]:elf.index(b"\0", strings + row[0])].decode(): elf[row[4]:row[4] + row[5]]
            for row in rows if row[1] != 8}  # 8: no bytes in the file


def parameters(elf, kernel, signature):
    """Where each parameter lies in the constant bank, by the cubin's own word."""
    info, at, base, places = elf[".nv.info." + kernel], 0, 0, {}
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form != 4:  # no bytes of its own
            continue
        if attribute == 0x0a:  # the bank's part with parameters
            base = struct.unpack_from("<IH", info, at)[1]
        elif attribute == 0x17:  # one parameter
            ordinal, offset, flags = struct.unpack_from("<4xHHI", info, at)
            places[ordinal] = (offset, flags >> 18)
        at += size
    if len(places) != len(signature):
        raise ValueError(f"{kernel} has {len(places)} parameters, and its text {len(signature)}")
    return [Param(name, base + places[i][0], places[i][1], stars, is_written)
            for i, (name, stars, is_written) in enumerate(signature)]


# ---- disassembly ------------------------------------------------------------------------------------------------------------

# guard: "P0", "!P0" or ""; reads and writes: names of registers, predicates among them; line: for messages.
Instruction = namedtuple("Instruction", "address guard opcode operands reads writes line")

INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]+)\*/\s+(?:@(!?U?P[0-9T]+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*(?:\(\*.*\*\)\s*)?;")
LABEL = re.compile(r"(\.?[\w$.]+):\s*$")
FILES = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}


def columns(header):
    """{column: register} of nvdisasm's table of life ranges, whose header has the numbers written from top to bottom."""
    bars = [i for i, c in enumerate(header[0]) if c == "|"]
    found = {}
    for left, right in zip(bars, bars[1:]):
        prefix = FILES.get(header[0][left + 1:right].strip())
        start = header[-1].index("#", left) + 1
        for column in range(start, right):
            digits = "".join(line[column] for line in header[1:]).strip()
            if prefix and digits:
                found[column] = prefix + str(int(digits))
    return found


def disassemble(nvdisasm, cubin):
    """{kernel: ([Instruction], {label: index})}, by the first of some nvdisasm that can: that of 13 refuses what 12 made."""
    for command in nvdisasm:
        done = subprocess.run([command, "-c", "-plr", "-lrm", "narrow", cubin], capture_output=True, text=True)
        if done.returncode == 0:
            return parse(done.stdout)
    raise ValueError(done.stderr.strip().splitlines()[-1])


def parse(text):
    kernels, code, labels, header, place = {}, [], {}, None, {}
    for line in text.splitlines():
        left, bar, right = line.partition(" // ")
        if "\t.section\t.text." in line:
            code, labels, header = [], {}, None
            kernels[re.search(r"\.text\.([\w$]+)", line).group(1)] = (code, labels)
        elif bar and right.startswith("+--"):
            if header:
                place = columns(header)
            header = None if header else []
        elif bar and header is not None:
            header.append(right)
        elif LABEL.match(left):
            labels[LABEL.match(left).group(1)] = len(code)
        elif INSTRUCTION.match(left):
            address, guard, opcode, operands = INSTRUCTION.match(left).groups()
            marks = {register: right[column] for column, register in place.items() if column < len(right)}
            guard = "" if guard in (None, "PT", "UPT") else guard
            code.append(Instruction(int(address, 16), guard, opcode, operands,
                                    {r for r, mark in marks.items() if mark in "vx"},
                                    {r for r, mark in marks.items() if mark in "^x"}, " ".join(left.split())))
    return kernels


# ---- values -----------------------------------------------------------------------------------------------------------------

# A value is a mask of what may have gone into it: bit i the kernel's pointer i, bit 16 + i a pointer out of the array i.
LOADED = 16

# mask: whatever the path; given: ((literal, mask)): what it is where the predicate's literal holds.
Value = namedtuple("Value", "mask given")
NOTHING = Value(0, ())


def negated(literal):
    return literal[1:] if literal.startswith("!") else "!" + literal


class State:
    """Registers and words of the stack (by number), the literals known to hold, and the targets of convergence barriers."""

    def __init__(self, value=None, facts=frozenset(), barriers=None):
        self.value, self.facts, self.barriers = value or {}, facts, barriers or {}

    def copy(self):
        return State(dict(self.value), self.facts, dict(self.barriers))

    def get(self, key):
        return self.value.get(key, NOTHING)

    def mask(self, key, literal=""):
        value = self.get(key)
        mask = value.mask
        for known, bound in value.given:
            if known == literal or known in self.facts:
                mask &= bound
        return mask

    def put(self, key, mask, guard=""):
        if guard and negated(guard) in self.facts:
            return
        if guard and guard not in self.facts:
            old, other = self.get(key), self.mask(key, negated(guard))
            given = {literal: mask | old_mask for literal, old_mask in old.given}
            given[guard], given[negated(guard)] = mask, other
            self.value[key] = Value(mask | other, tuple(sorted(given.items())))
        else:
            self.value[key] = Value(mask, ())

    def forget(self, predicate):
        """The predicate changes: what was known by it is known no more."""
        both = (predicate, "!" + predicate)
        self.facts = self.facts - frozenset(both)
        for key, value in self.value.items():
            if value.given and any(literal in both for literal, _ in value.given):
                given = tuple(pair for pair in value.given if pair[0] not in both)
                self.value[key] = value._replace(given=given)

    def with_fact(self, literal):
        """Along an edge that is taken where the literal holds; None: never."""
        if not literal or literal in self.facts:
            return self
        if negated(literal) in self.facts:
            return None
        after = self.copy()
        after.facts = self.facts | {literal}
        for key, value in self.value.items():
            if value.given:
                after.value[key] = Value(self.mask(key, literal), value.given)
        return after

    def joined(self, other):
        """Join the states of two paths that meet."""
        after = State(facts=self.facts & other.facts)
        literals = self.facts ^ other.facts
        literals = literals | {negated(literal) for literal in literals}
        for key in self.value.keys() | other.value.keys():
            a, b = self.get(key), other.get(key)
            if a == b:
                after.value[key] = a
                continue
            mask, given = a.mask | b.mask, {}
            for literal in literals | {known for known, _ in a.given + b.given}:
                known = 0
                for side in (self, other):
                    if negated(literal) not in side.facts:
                        known |= side.mask(key, literal)
                if known != mask:
                    given[literal] = known
            after.value[key] = Value(mask, tuple(sorted(given.items())))
        for name in self.barriers.keys() | other.barriers.keys():
            after.barriers[name] = self.barriers.get(name, frozenset()) | other.barriers.get(name, frozenset())
        return after

    def __eq__(self, other):
        return (self.value, self.facts, self.barriers) == (other.value, other.facts, other.barriers)


# ---- data flow --------------------------------------------------------------------------------------------------------------

LOADS, STORES = ("LDG", "LD"), ("STG", "ST", "RED", "REDG", "ATOM", "ATOMG")
LEAVE = ("EXIT", "BRA", "BSYNC", "RET", "CALL", "BRX", "JMP", "KILL")
WORDS = {"64": 2, "128": 4}
MANY = 24  # visits of a block, after which it is taken less exactly


def register_range(first, count):
    prefix, number = re.match(r"(U?R)(\d+)$", first).groups()
    return [prefix + str(int(number) + i) for i in range(count)]


def words_of(opcode):
    return next((WORDS[part] for part in opcode.split(".")[1:] if part in WORDS), 1)


class Flow:
    """One kernel's data flow, and what it finds."""

    def __init__(self, code, labels, params):
        self.code, self.labels, self.params = code, labels, params
        self.findings = {}
        self.starts = self.find_blocks()
        self.inputs = {}  # (block, the calls that it is in): the state at its start

    def find_blocks(self):
        starts = {0} | set(self.labels.values())
        starts |= {i + 1 for i, one in enumerate(self.code) if one.opcode.split(".")[0] in LEAVE}
        return sorted(i for i in starts if i < len(self.code))

    # The value of an operand in the constant bank; word: which of several that one instruction loads.
    def constant(self, operands, word=None):
        mask = 0
        for place in re.findall(r"c\[0x0\]\[(0x[0-9a-f]+)\]", operands):
            at = int(place, 16) + 4 * (word or 0)
            for i, param in enumerate(self.params):
                if param.stars and param.offset <= at < param.offset + param.bytes:
                    mask |= 1 << i
        return mask

    def names(self, mask):
        found = [p.name for i, p in enumerate(self.params) if mask >> i & 1]
        found += [p.name + "[...]" for i, p in enumerate(self.params) if mask >> (LOADED + i) & 1]
        return " and ".join(found) if found else "no pointer"

    def address(self, state, one):
        """The mask of the address in global memory: that in the last brackets."""
        inside = re.findall(r"\[[^\]]*\]", one.operands)[-1]
        mask = self.constant(one.operands) if "c[" in inside else 0
        for register, suffix in re.findall(r"(U?R\d+)(\.64)?", inside):
            mask |= state.mask(register, one.guard)
            pair = register_range(register, 2)[1]
            if suffix or pair in one.reads and register.startswith("U"):
                mask |= state.mask(pair, one.guard)
        return mask

    def check_address(self, state, one, is_store):
        mask = self.address(state, one)
        writable = sum(1 << i + (LOADED if p.stars > 1 else 0) for i, p in enumerate(self.params) if p.stars and p.is_written)
        verb = "stores" if is_store else "loads"
        if mask == 0 or mask.bit_count() > 1 and is_store:
            self.findings[one.address] = f"{verb} by an address made of {self.names(mask)}: {one.line}"
        elif is_store and not mask & writable:
            self.findings[one.address] = f"stores into {self.names(mask)}: {one.line}"
        return mask

    def stack_words(self, one, count):
        """The words of the stack that an access names; None: not known."""
        inside = re.search(r"\[R1(?:\.64)?(?:\+(-?0x[0-9a-f]+))?\]", one.operands)
        if not inside:
            return None
        first = int(inside.group(1) or "0", 16) // 4
        return list(range(first, first + count))

    def store_local(self, state, one):
        count = words_of(one.opcode)
        first = one.operands.rsplit(",", 1)[1].strip().split(".")[0]
        data = ["RZ"] * count if first == "RZ" else register_range(first, count)
        words = self.stack_words(one, count)
        if words is None:  # anywhere
            for key in [key for key in state.value if isinstance(key, int)]:
                for register in data:
                    state.put(key, state.mask(key) | state.mask(register, one.guard))
            return
        for word, register in zip(words, data):
            state.put(word, 0 if register == "RZ" else state.mask(register, one.guard), one.guard)

    def load_local(self, state, one):
        count = words_of(one.opcode)
        data = register_range(one.operands.split(",", 1)[0].strip(), count)
        words = self.stack_words(one, count)
        for i, register in enumerate(data):
            if words is None:
                mask = 0
                for key in [key for key in state.value if isinstance(key, int)]:
                    mask |= state.mask(key)
            else:
                mask = state.mask(words[i], one.guard)
            state.put(register, mask, one.guard)

    def step(self, state, one):
        """Follow one instruction that is not a branch."""
        base = one.opcode.split(".")[0]
        registers = [r for r in one.writes if "P" not in r]
        if base == "STL":
            self.store_local(state, one)
        elif base == "LDL":
            self.load_local(state, one)
        elif base in LOADS or base in STORES or base == "LDGSTS":
            address = self.check_address(state, one, base in STORES)
            loaded = 0
            for i, param in enumerate(self.params):
                if param.stars > 1 and address >> i & 1:
                    loaded |= 1 << LOADED + i
            for register in registers:
                state.put(register, loaded, one.guard)
        elif base in ("LDC", "ULDC", "LDCU"):
            first = re.match(r"(?:U?P\w+,\s*)?(U?R)(\d+)", one.operands)
            for register in registers:
                state.put(register, self.constant(one.operands, int(register.strip("UR")) - int(first.group(2))), one.guard)
        elif base in ("LDS", "LDSM"):
            for register in registers:
                state.put(register, 0, one.guard)
        else:
            mask = self.constant(one.operands)
            for register in one.reads:
                if "P" not in register:
                    mask |= state.mask(register, one.guard)
            for register in registers:
                state.put(register, mask, one.guard)
        for predicate in one.writes:
            if "P" in predicate:
                state.forget(predicate)
        if base == "BSSY":
            barrier, label = re.match(r"(B\d+), `\((.*?)\)", one.operands.replace("RECONVERGENT", "").strip()).groups()
            state.barriers[barrier] = frozenset({self.labels[label]})

    def leave(self, state, one, index, calls):
        """The edges out of a block: [(block, calls, state)]."""
        base = one.opcode.split(".")[0]
        edges, target = [], re.search(r"`\((.*?)\)", one.operands)
        passes = state.with_fact(negated(one.guard)) if one.guard else None
        taken = state.with_fact(one.guard)
        if base == "BRA" and re.match(r"!?U?P\d", one.operands):  # a second condition, of which nothing is kept
            passes = state
        if taken is not None:
            if base in ("BRA", "JMP"):
                edges.append((self.labels[target.group(1)], calls, taken))
            elif base == "BSYNC":
                barrier = re.match(r"B\d+", one.operands).group(0)
                edges += [(label, calls, taken) for label in taken.barriers.get(barrier, ())] or [(index + 1, calls, taken)]
            elif base == "CALL":
                edges.append((self.labels[target.group(1)], calls + (index + 1,), taken))
            elif base == "RET" and calls:
                edges.append((calls[-1], calls[:-1], taken))
            elif base == "BRX":
                raise ValueError(f"an indirect branch: {one.line}")
        if passes is not None:
            edges.append((index + 1, calls, passes))
        return [edge for edge in edges if edge[0] < len(self.code)]

    def run_block(self, start, calls):
        state = self.inputs[start, calls].copy()
        index = start
        end = next((s for s in self.starts if s > start), len(self.code))
        while index < end:
            one = self.code[index]
            if one.opcode.split(".")[0] in LEAVE:
                return self.leave(state, one, index, calls)
            self.step(state, one)
            index += 1
        return [(index, calls, state)] if index < len(self.code) else []

    def run(self):
        """To the fixed point. Returns {address: message}."""
        waiting, visits = [(0, ())], {}
        self.inputs = {(0, ()): State()}
        while waiting:
            waiting.sort(reverse=True)
            block = waiting.pop()
            visits[block] = visits.get(block, 0) + 1
            for start, calls, state in self.run_block(*block):
                after = (start, calls)
                old = self.inputs.get(after)
                new = old.joined(state) if old else state.copy()
                if visits.get(after, 0) > MANY:  # predicates that chase each other: without them it ends
                    new = State({key: Value(v.mask, ()) for key, v in new.value.items()}, frozenset(), new.barriers)
                if old is None or new != old:
                    self.inputs[after] = new
                    if after not in waiting:
                        waiting.append(after)
        self.findings.clear()  # those on the way may have come of states that were not complete
        for block in self.inputs:
            self.run_block(*block)
        return self.findings


def check_cubin(nvdisasm, cubin, text):
    """[(kernel, message)] of a cubin and the CUDA text that it was made of."""
    elf, found = sections(Path(cubin).read_bytes()), []
    kernels = signatures(text)
    for kernel, (code, labels) in disassemble(nvdisasm, cubin).items():
        if kernel not in kernels:
            raise ValueError(f"the text has no kernel {kernel}")
        flow = Flow(code, labels, parameters(elf, kernel, kernels[kernel]))
        found += [(kernel, message) for _, message in sorted(flow.run().items())]
    return found


# ---- compiling --------------------------------------------------------------------------------------------------------------

# As src/compiler/nvrtc_compile.c has them. The last ones are left out where a build does not know them.
OPTIONS = ("-std=c++17", "--no-source-include", "--diag-suppress=177", "--minimal", "--no-cache", "--ptxas-options=-v")
OPTIONAL = ("--minimal", "--no-cache")
RESULTS = {0: "done", 5: "invalid option", 6: "does not compile"}

Compiled = namedtuple("Compiled", "cubin log")


class Nvrtc:
    """One build, in the process that has opened no other."""

    def __init__(self, library):
        builtins = sorted(Path(library).parent.glob("libnvrtc-builtins.so*"))
        if builtins:
            ctypes.CDLL(str(builtins[-1]), ctypes.RTLD_GLOBAL)
        self.call = ctypes.CDLL(str(library))
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.options = [o for o in OPTIONS if o not in OPTIONAL or self.compile("", "compute_90", [o], ptx=True)[0] == 0]
        ptx = self.compile("", "compute_90", [], ptx=True)[1].cubin.decode()
        self.build = re.search(r"V(\d+\.\d+\.\d+)", ptx).group(1)

    def targets(self):
        count = ctypes.c_int()
        self.call.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self.call.nvrtcGetSupportedArchs(numbers)
        return {f"sm_{number}" for number in numbers}

    def take(self, program, what):
        size = ctypes.c_size_t()
        getattr(self.call, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        data = ctypes.create_string_buffer(max(size.value, 1))
        getattr(self.call, f"nvrtcGet{what}")(program, data)
        return data.raw[:size.value]

    def compile(self, text, target, options=None, ptx=False):
        program = ctypes.c_void_p()
        given = [f"--gpu-architecture={target}"] + (self.options if options is None else options)
        self.call.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
        words = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
        result = self.call.nvrtcCompileProgram(program, len(given), words)
        code = self.take(program, "PTX" if ptx else "CUBIN") if result == 0 else b""
        log = self.take(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        self.call.nvrtcDestroyProgram(ctypes.byref(program))
        return result, Compiled(code, log)


def find_library(place):
    """libnvrtc.so.NN at or below a place."""
    place = Path(place)
    if place.is_file():
        return place
    found = sorted(p for p in place.rglob("libnvrtc.so.*") if re.search(r"\.so\.\d+$", p.name))
    if not found:
        raise SystemExit(f"check_sass: no libnvrtc.so below {place}")
    return found[0]


def spilled(log):
    """Does ptxas report a stack or a spill for any of the kernels?"""
    return any(int(n) for line in re.findall(r"(.*bytes stack frame.*)", log) for n in re.findall(r"(\d+) bytes", line))


# One source, one build, one target. reports: [(kernel, message)]; trouble: why nothing can be said.
Row = namedtuple("Row", "build target name is_spilled reports trouble")


def judge_build(library, texts, targets, nvdisasm, keep, rows):
    """In a process of its own. texts: [(name, text)]; rows: a queue, that ends with None."""
    try:
        nvrtc = Nvrtc(library)
        for target in [t for t in targets if t in nvrtc.targets()]:
            for name, text in texts:
                result, made = nvrtc.compile(text, target)
                if result:
                    rows.put(Row(nvrtc.build, target, name, False, [], RESULTS.get(result, f"error {result}")))
                    continue
                cubin = Path(keep, f"{name}.{nvrtc.build}.{target}.cubin")
                cubin.write_bytes(made.cubin)
                try:
                    rows.put(Row(nvrtc.build, target, name, spilled(made.log), check_cubin(nvdisasm, cubin, text), ""))
                except (ValueError, KeyError, AttributeError) as error:
                    rows.put(Row(nvrtc.build, target, name, spilled(made.log), [], f"cannot be followed: {error!r}"))
    finally:
        rows.put(None)


def judge(libraries, texts, targets, nvdisasm, keep, show):
    """Every build, one after the other; show is called with each row. Returns all."""
    all_rows, context = [], multiprocessing.get_context("spawn")
    for library in libraries:
        rows = context.Queue()
        worker = context.Process(target=judge_build, args=(library, texts, targets, nvdisasm, keep, rows))
        worker.start()
        while (row := rows.get()) is not None:
            all_rows.append(row)
            show(row)
        worker.join()
        if worker.exitcode:
            raise SystemExit(f"check_sass: {library} ended with {worker.exitcode}")
    return all_rows


# ---- the script's own test --------------------------------------------------------------------------------------------------

# A loop as TileJIT's: R0 is the row of the thread, spilled; R4 holds M's address, R6 P's. In the loop R0 takes M's address, and
# where there is one more phase, the row is loaded again. %s: the same where the loop is left, or nothing, which is the fault.
LISTING = """\
\t.section\t.text.planted,"ax",@progbits
                                                       // +-------------+-----+
                                                       // |     GPR     |PRED |
                                                       // |  # 01234567 | # 0 |
                                                       // +-------------+-----+
planted:
        /*0000*/       S2R R0, SR_TID.X ;              // |  1 ^        | 1   |
        /*0010*/       STL [R1], R0 ;                  // |  1 vv       | 1   |
        /*0020*/       LDC.64 R4, c[0x0][0x210] ;      // |  1 ::  ^^   | 1   |
        /*0030*/       LDC.64 R6, c[0x0][0x218] ;      // |  1 ::  ::^^ | 1   |
.L_x_1:
        /*0040*/       LDG.E R2, desc[UR4][R4.64] ;    // |  1 ::^ vv:: | 1   |
        /*0050*/       MOV R0, R4 ;                    // |  1 ^:: v::: | 1   |
        /*0060*/       ISETP.NE P0, R2, RZ ;            // |  1 ::v :::: | 1 ^ |
        /*0070*/  @!P0 BRA `(.L_x_2) ;                 // |  1 ::: :::: | 1 v |
        /*0080*/       LDL R0, [R1] ;                  // |  1 ^v  :::: | 1   |
        /*0090*/       BRA `(.L_x_1) ;                 // |  1 ::  :::: | 1   |
.L_x_2:
%s        /*00b0*/       IMAD.WIDE R6, R0, 0x4, R6 ;     // |  1 v::   xx | 1   |
        /*00c0*/       STG.E desc[UR4][R6.64], R2 ;    // |  1  :v   vv | 1   |
        /*00d0*/       EXIT ;                          // |  1          | 1   |
"""
RELOAD = """\
        /*00a0*/       LDL R0, [R1] ;                  // |  1 ^v:   :: | 1   |
"""


def self_test():
    params = [Param("M", 0x210, 8, 1, False), Param("P", 0x218, 8, 1, True)]
    found = []
    for middle in (RELOAD, ""):
        code, labels = parse(LISTING % middle)["planted"]
        found.append(list(Flow(code, labels, params).run().values()))
    expected = [[], ["stores by an address made of M and P: /*00c0*/ STG.E desc[UR4][R6.64], R2 ;"]]
    print("check_sass: " + ("the right listing passes, the wrong one does not" if found == expected else f"found {found}"))
    return 0 if found == expected else 1


# ---- the command ------------------------------------------------------------------------------------------------------------

def texts_of_requests(tilejit, lines):
    """Return the sources that tilejit generate makes of lines of its arguments."""
    texts = []
    for line in lines:
        words = shlex.split(line, comments=True)
        if words:
            made = subprocess.run([tilejit, "generate", *words], capture_output=True, text=True)
            if made.returncode:
                raise SystemExit(f"check_sass: {line.strip()}: {made.stderr.strip()}")
            texts.append((f"request{len(texts) + 1}", made.stdout))
    return texts


def show(row, is_verbose):
    """A line for what is wrong, and for all else if asked."""
    if row.trouble or row.reports or is_verbose:
        words = row.trouble or (f"{len(row.reports)} wrong addresses" if row.reports else "right")
        print(f"{row.build:9} {row.target:7} {row.name:28} {'spills' if row.is_spilled else '':6} {words}", flush=True)
    for kernel, message in row.reports if is_verbose else row.reports[:1]:
        print(f"    {kernel} {message}", flush=True)


def print_table(rows):
    print("\n| NVRTC | target | texts | that spill | wrong | of them without a spill |\n|---|---|---|---|---|---|")
    for build, target in dict.fromkeys((row.build, row.target) for row in rows):
        of_it = [row for row in rows if (row.build, row.target) == (build, target) and not row.trouble]
        wrong = [row for row in of_it if row.reports]
        print(f"| {build} | {target} | {len(of_it)} | {sum(row.is_spilled for row in of_it)} | {len(wrong)} "
              f"| {sum(not row.is_spilled for row in wrong)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].split(": ", 1)[1])
    parser.add_argument("texts", nargs="*", help="CUDA texts of the generator")
    parser.add_argument("--nvrtc", action="append", default=[], help="a libnvrtc.so, or a folder with one; repeatable")
    parser.add_argument("--arch", action="append", help="a target; default: sm_90. One that a build does not know is left out")
    parser.add_argument("--requests", help="a file of lines of arguments for tilejit generate")
    parser.add_argument("--tilejit", default="build/dev/tilejit", help="the command that generates their texts")
    parser.add_argument("--images", help="look at NAME.cubin with NAME.cu in this folder, and compile nothing")
    parser.add_argument("--nvdisasm", action="append",
                        help="default: that on the PATH; give one of CUDA 12 and one of 13 for NVRTC builds of both")
    parser.add_argument("--keep", help="a folder for the cubins")
    parser.add_argument("--verbose", action="store_true", help="each text, and each wrong address of it")
    parser.add_argument("--self-test", action="store_true", help="judge a right and a wrong listing of the script's own")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    nvdisasm = options.nvdisasm or ["nvdisasm"]
    for command in nvdisasm:
        if not shutil.which(command):
            raise SystemExit(f"check_sass: no {command}: pip install nvidia-cuda-nvdisasm, and name it with --nvdisasm")
    texts = [(Path(name).stem, Path(name).read_text()) for name in options.texts]
    if options.requests:
        texts += texts_of_requests(options.tilejit, Path(options.requests).read_text().splitlines())
    rows = []
    if options.images:
        for cubin in sorted(Path(options.images).glob("*.cubin")):
            reports = check_cubin(nvdisasm, cubin, cubin.with_suffix(".cu").read_text())
            rows.append(Row("", "", cubin.stem, False, reports, ""))
            show(rows[-1], options.verbose)
    with tempfile.TemporaryDirectory() as folder:
        rows += judge([find_library(place) for place in options.nvrtc], texts, options.arch or ["sm_90"], nvdisasm,
                      options.keep or folder, lambda row: show(row, options.verbose))
    if not rows:
        parser.error("nothing to look at: give texts or --requests, and --nvrtc; or --images")
    if options.nvrtc:
        print_table(rows)
    return 1 if any(row.reports or row.trouble for row in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            sys.exit(2)
        raise
