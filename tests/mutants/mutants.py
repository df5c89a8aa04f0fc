"""Faults of the compiler, one at a time, each of which named tests must show.

The faults are the entries of the .ini files beside this one:

  [a-ring-has-a-place-too-few]          its name
  file  = codegen/plan/march_plan.cpp   where, from the root; a .cpp of the library, or a .c of runtime/export
  old   = ... + (lagged ? 0 : 1)        what stands there once; white space of any length is one space
  new   = ...                           what stands there instead; nothing: the old text is left out
  tests = passes KernelPlan.*           programs of tests and GoogleTest filters, one a line: each must fail
          numeric Stencils/March.*

A mutant costs an object and a link: the library is made of the build's objects, but for the one of the
changed file, in a folder of its own, and the build's test programs run with it. Neither the tree nor the
build changes.
"""
import argparse
import concurrent.futures
import configparser
import datetime
import fnmatch
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_SECONDS = 60  # of the processor's, for each of a mutant's tests, however busy the machine is
MOST_WAITING = 600  # seconds, for those that wait for ever
MOST_MEMORY = 16 << 30  # bytes of addresses: an endless list ends there


# What a test's output says beside its program's own checks, by which kinds of tests are told apart.
KINDS = (
    ("verify_plan", r"leaves an unsound plan"),
    ("verify", r"[Uu]nsound"),
    ("emulator", r"race in |uninitialised shared memory|index out of range|asynchronous copy in |bulk copy in |"
                 r"deadlock in |divergent barrier|incomplete shuffle|named barrier in "),
)


class Wrong(Exception):
    """The list or a build is wrong, whatever the tests say."""


class Mutant:
    def __init__(self, name, entry):
        missing = [key for key in ("file", "old", "new", "tests") if key not in entry]
        unknown = [key for key in entry if key not in ("file", "old", "new", "tests")]
        if missing or unknown:
            raise Wrong(f"{name}: missing {missing}, unknown {unknown}")
        self.name = name
        self.file = entry["file"]
        self.old, self.new = entry["old"].split(), " ".join(entry["new"].split())
        self.tests = []
        for line in entry["tests"].strip().splitlines():
            program, _, filter_ = line.strip().partition(" ")
            self.tests.append((program, filter_.strip()))

    def text(self):
        """The file with the fault. Wrong if the old text does not stand there once."""
        path = ROOT / self.file
        if not path.is_file():
            raise Wrong(f"{self.name}: there is no {self.file}")
        source = path.read_text()
        places = list(re.finditer(r"\s+".join(map(re.escape, self.old)), source))
        if not self.old or len(places) != 1:
            raise Wrong(f"{self.name}: its old text stands {len(places)} times in {self.file}, and must "
                        f"once: {' '.join(self.old)}")
        if " ".join(self.old) == self.new:
            raise Wrong(f"{self.name}: the new text is the old one")
        return source[:places[0].start()] + self.new + source[places[0].end():]


def read_list():
    mutants = []
    for path in sorted(pathlib.Path(__file__).parent.glob("*.ini")):
        parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=(";",),
                                           default_section="")
        parser.read_string(path.read_text(), path.name)
        mutants += [Mutant(name, dict(parser[name])) for name in parser.sections()]
    names = [m.name for m in mutants]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise Wrong(f"mutants of one name: {sorted(twice)}")
    return mutants


def environment(build, **more):
    return {**os.environ, "MICA_TUNE_STORE": "off", "MICA_CACHE_DIR": str(build / "test_cache"), **more}


def test_names(build, program):
    """All tests of a program as GoogleTest filters name them."""
    path = build / "bin" / f"mica_test_{program}"
    if not path.is_file():
        raise Wrong(f"there is no {path}: build mica_test_{program}")
    listed = subprocess.run([path, "--gtest_list_tests"], capture_output=True, text=True, check=True,
                            env=environment(build))
    names, suite = [], ""
    for line in listed.stdout.splitlines():
        line = line.split("#")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + line.strip())
        elif line.endswith("."):
            suite = line
    return names


def check_list(build, mutants):
    """Wrong unless every text is found and every part of a filter names a test."""
    wrong, known = [], {}
    for mutant in mutants:
        try:
            mutant.text()
            for program, filter_ in mutant.tests:
                if program not in known:
                    known[program] = test_names(build, program)
                for part in filter_.split(":"):
                    if not part or not fnmatch.filter(known[program], part):
                        raise Wrong(f"{mutant.name}: {program} has no test {part!r}")
            if not mutant.tests:
                raise Wrong(f"{mutant.name}: no tests are named")
        except Wrong as error:
            wrong.append(str(error))
    if wrong:
        raise Wrong("\n".join(wrong))


class Library:
    """The commands by which the build makes the library."""

    def __init__(self, build):
        self.build = build
        listed = subprocess.run(["ninja", "-C", build, "-t", "commands", "mica"], capture_output=True,
                                text=True, check=True)
        self.commands = [line for line in listed.stdout.splitlines() if self.output(line)]
        self.soname = re.search(r"-soname,(\S+)", self.commands[-1]).group(1)

    @staticmethod
    def output(command):
        """What a command makes; none: a command of another kind, such as one for links."""
        found = re.search(r" -o (\S+)", command) or re.search(r"\bar qc (\S+)", command)
        return found.group(1) if found else None

    def make(self, mutant, folder):
        """The folder of the library with the fault."""
        source = folder / mutant.file
        source.parent.mkdir(parents=True)
        source.write_text(mutant.text())
        made = {str(ROOT / mutant.file): str(source)}
        for command in self.commands:
            if not any(path in command for path in made):
                continue
            output = self.output(command)
            made[output] = os.path.relpath(folder / "made" / output, self.build)
            (folder / "made" / output).parent.mkdir(parents=True, exist_ok=True)
            for path, instead in made.items():
                command = command.replace(path, instead)
            # What the fault leaves unused is no error, and nobody debugs it.
            command = command.replace(" -c ", " -w -g0 -c ")
            run = subprocess.run(command, shell=True, cwd=self.build, capture_output=True, text=True)
            if run.returncode != 0:
                raise Wrong(f"{mutant.name} does not compile:\n{run.stdout}{run.stderr}")
        if len(made) < 3:
            raise Wrong(f"{mutant.name}: {mutant.file} is no part of the library")
        library = (self.build / list(made.values())[-1]).resolve()
        link = library.parent / self.soname
        if not link.exists():
            link.symlink_to(library.name)
        return library.parent


def run_tests(build, program, filter_, seconds, more):
    """(how it ended, output): "" for success, else the first of the failed tests, or what ended it."""
    def set_limits():
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))

    command = [build / "bin" / f"mica_test_{program}", f"--gtest_filter={filter_}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", env=environment(build, **more), cwd=build,
                               preexec_fn=set_limits, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=MOST_WAITING if seconds else None)
        ended = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        ended = None
    if ended == 0:
        return "", output
    failed = re.findall(r"^\[  FAILED  \] ([^ ,]+).*\(\d+ ms\)$", output, re.M)
    if failed:
        return failed[0], output
    began = (re.findall(r"^\[ RUN      \] (.*)$", output, re.M) or ["no test"])[-1]
    how = ("a wait without end" if ended is None else
           f"exit {ended}" if ended > 0 else signal.Signals(-ended).name)
    return f"{how} in {began}", output


def kind_of(program, output):
    """How a test has found a fault."""
    return next((kind for kind, text in KINDS if re.search(text, output)),
                "oracle" if program in ("numeric", "fuzz", "ported") else program)


def try_mutant(library, mutant, folder, logs):
    """(row of the table, kinds of tests that caught it; none if one that is named did not)"""
    shutil.rmtree(folder, ignore_errors=True)
    start = time.monotonic()
    try:
        made = library.make(mutant, folder)
        built = time.monotonic() - start
        rows, kinds, missed = [], set(), False
        more = {"LD_LIBRARY_PATH": str(made), "MICA_CACHE_DIR": str(folder / "cache"), "GTEST_FAIL_FAST": "1"}
        text = ""
        for program, filter_ in mutant.tests:
            begin = time.monotonic()
            caught, output = run_tests(library.build, program, filter_, MOST_SECONDS, more)
            took = time.monotonic() - begin
            text += output
            if caught:
                kind = kind_of(program, output)
                kinds.add(kind)
                rows.append(f"{kind}: {program} {caught} ({took:.1f} s)")
            else:
                missed = True
                rows.append(f"NOT CAUGHT by {program} {filter_} ({took:.1f} s)")
        (logs / f"{mutant.name}.log").write_text(text)
        return f"{mutant.name:50} {built:5.1f} s  " + ", ".join(rows), set() if missed else kinds
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_unchanged(build, mutants):
    """The named tests pass without a fault, and do not skip all that they do."""
    by_program = {}
    for mutant in mutants:
        for program, filter_ in mutant.tests:
            by_program.setdefault(program, set()).add(filter_)
    for program, filters in by_program.items():
        failed, output = run_tests(build, program, ":".join(sorted(filters)), None, {})
        if failed:
            raise Wrong(f"without a fault {program} fails: {failed}\n{output[-2000:]}")


def chosen(mutants, names, few):
    if names:
        found = [m for m in mutants if any(fnmatch.fnmatchcase(m.name, name) for name in names)]
        unknown = [name for name in names if not fnmatch.filter([m.name for m in mutants], name)]
        if unknown:
            raise Wrong(f"no such mutant: {', '.join(unknown)}")
        return found
    if few is None:
        return mutants
    # Those whose turn it is today: neighbours in the list are faults of one room, so they stand apart.
    day, count = datetime.datetime.now(datetime.timezone.utc).timetuple().tm_yday, min(few, len(mutants))
    return [mutants[(day + turn * len(mutants) // count) % len(mutants)] for turn in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants, * and ? allowed (default: all)")
    parser.add_argument("--few", type=int, metavar="N", help="N of them, others each day of the year")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--check", action="store_true",
                        help="whether all old texts and tests are there, nothing is built")
    parser.add_argument("--targets", action="store_true", help="print what has to be built")
    parser.add_argument("--build", default=ROOT / "build" / "dev", type=pathlib.Path)
    arguments = parser.parse_args()
    began = time.monotonic()
    build = arguments.build.resolve()
    try:
        mutants = chosen(read_list(), arguments.names, arguments.few)
        if arguments.list:
            print("\n".join(m.name for m in mutants))
            return 0
        if arguments.targets:
            programs = {program for m in mutants for program, _ in m.tests}
            print("mica", *sorted(f"mica_test_{program}" for program in programs))
            return 0
        check_list(build, mutants)
        if arguments.check:
            print(f"{len(mutants)} mutants: each can be made, and its tests are there")
            return 0
        check_unchanged(build, mutants)
        work = build.parent / "mutants"
        logs = work / "logs"
        shutil.rmtree(work, ignore_errors=True)
        logs.mkdir(parents=True)
        library = Library(build)
        jobs = int(os.environ.get("MICA_JOBS", len(os.sched_getaffinity(0))))
        survivors, wrong, by_one = [], [], 0
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            runs = {pool.submit(try_mutant, library, m, work / m.name, logs): m for m in mutants}
            for run in concurrent.futures.as_completed(runs):
                try:
                    row, kinds = run.result()
                    print(row, flush=True)
                    by_one += len(kinds) == 1
                    if not kinds:
                        survivors.append(runs[run].name)
                except Wrong as error:
                    print(error, flush=True)
                    wrong.append(runs[run].name)
    except Wrong as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{len(mutants) - len(survivors) - len(wrong)} caught, {by_one} of them by one kind of test; "
          f"{len(survivors)} survived, {len(wrong)} not made; {(time.monotonic() - began) / 60:.1f} minutes")
    for name in survivors:
        print(f"survived: {name} (output: {logs / name}.log)")
    return 1 if survivors or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
