# SPDX-License-Identifier: Apache-2.0
"""Runs the program on input and outputs that cannot work, and checks what every such run must keep.

Whatever the input: the documented exit code, an error with a permanent code and a cure, no crash, nothing lost of what was
there before, and bounded time and memory.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SKIPPED = 77
CODE = re.compile(r"error\[(TW\d{4})\]")
# What a crash, a sanitizer or an error of ours that the user cannot act on leaves behind.
TRACES = ("Traceback", "AddressSanitizer", "LeakSanitizer", "runtime error:", "terminate called", "internal error",
          "Segmentation fault", "TW9001", "TW9002", "TW9003")
# Under sanitizers everything takes several times as long and as much memory.
LIMIT_S = 20
LIMIT_MIB = 512
SANITIZED_FACTOR = 6


class Broken(Exception):
    """A run that did not keep what it must."""


class Skipped(Exception):
    """This machine cannot run the case; the text says why."""


@dataclass
class Run:
    command: list
    exit_code: int
    out: bytes
    err: str
    time_s: float
    memory_mib: float

    def codes(self):
        """The codes of the errors, in text or JSON Lines."""
        found = CODE.findall(self.err)
        for line in self.err.splitlines():
            if line.startswith("{"):
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if entry.get("severity") == "error":
                    found.append(entry["code"])
        return found

    def fail(self, why):
        shown = self.err if len(self.err) < 3000 else self.err[:3000] + "..."
        raise Broken(f"{why}\n  command: {' '.join(map(str, self.command))[:600]}\n  exit code {self.exit_code}, "
                     f"{self.time_s:.1f} s, {self.memory_mib:.0f} MiB\n  stdout: {self.out[:600]!r}\n  stderr: {shown}")


def snapshot(folder):
    """Every file below `folder` with its content; folders as None."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        found[str(path.relative_to(folder))] = path.read_bytes() if path.is_file() else None
    return found


class World:
    """A program under test, an empty folder and a data folder."""

    def __init__(self, program, data, is_sanitized):
        self.program = str(Path(program).resolve())
        self.data = Path(data).resolve()
        self.factor = SANITIZED_FACTOR if is_sanitized else 1
        self.folder = Path(tempfile.mkdtemp(prefix="tilewright-bad-input-"))
        self.explained = {}
        self.runs = 0

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def kernel(self, name="gemm/naive"):
        return str(self.data / "kernels" / f"{name}.tw.py")

    def task(self, name="gemm_bf16"):
        return str(self.data / "tasks" / f"{name}.toml")

    def file(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def environment(self):
        keep = {key: value for key, value in os.environ.items() if key in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LANG")}
        # The user's own cache and store are never touched.
        return {**keep, "HOME": str(self.folder / "home"), "TMPDIR": str(self.folder), "TILEWRIGHT_DATA": str(self.data)}

    def run(self, *arguments, stdout=None, prepare=None, limit_s=LIMIT_S, cwd=None):
        """Runs the program; `stdout` is a file instead of a pipe. Checks what holds for every run."""
        (self.folder / "home").mkdir(exist_ok=True)
        command = [self.program, *map(str, arguments)]
        started = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout if stdout is not None else out,
                                       stderr=err, env=self.environment(), preexec_fn=prepare, start_new_session=True,
                                       cwd=cwd or self.folder)
            limit = limit_s * self.factor
            signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
            signal.setitimer(signal.ITIMER_REAL, limit)
            _, status, usage = os.wait4(process.pid, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            run = Run(command, process.returncode, out.read(), err.read().decode("utf-8", "backslashreplace"),
                      time.monotonic() - started, usage.ru_maxrss / 1024)
        self.runs += 1
        if run.exit_code < 0:
            run.fail(f"ended by signal {-run.exit_code}" + (f" after the limit of {limit} s" if run.time_s >= limit else ""))
        if run.exit_code not in (0, 1, 2, 3, 4, 130):
            run.fail("an exit code that is not documented or means a bug")
        for trace in TRACES:
            if trace in run.err or trace.encode() in run.out:
                run.fail(f"`{trace}` in the output")
        if run.memory_mib > LIMIT_MIB * self.factor:
            run.fail(f"more than {LIMIT_MIB * self.factor} MiB of memory")
        if len(run.err) > 200_000:
            run.fail(f"{len(run.err)} characters of messages")
        return run

    def refused(self, arguments, exit_code, code, says=None, formats=("text", "json"), **options):
        """The command must end with this exit code and (one of) these codes, as text and as JSON, with a cure."""
        last = None
        for form in formats:
            last = run = self.run(*arguments, *([] if form == "text" else ["--format=json"]), **options)
            codes = (code,) if isinstance(code, str) else code
            if run.exit_code != exit_code:
                run.fail(f"expected exit code {exit_code}")
            if not set(codes) & set(run.codes()):
                run.fail(f"expected an error {' or '.join(codes)}")
            if says and says not in run.err:
                run.fail(f"the message does not say `{says}`")
            for found in set(run.codes()):
                self.check_cure(found, run)
            if form == "json":
                self.check_json(run)
        return last

    def check_json(self, run):
        for line in run.err.splitlines():
            if not line.startswith("{"):
                # Progress, and errors of the command line itself, are plain lines.
                continue
            try:
                json.loads(line)
            except ValueError as error:
                run.fail(f"stderr holds a line that is no JSON: {error}: {line[:200]}")
        if run.out.strip():
            try:
                json.loads(run.out)
            except ValueError as error:
                run.fail(f"stdout is no JSON: {error}")

    def check_cure(self, code, run):
        """The code's page can be printed, and says after its example what to do."""
        if code not in self.explained:
            page = self.run("explain", code)
            last = [line for line in page.out.decode().splitlines() if line.strip()][-1]
            self.explained[code] = page.exit_code == 0 and not last.startswith(("`" * 3, "#"))
        if not self.explained[code]:
            run.fail(f"`tilewright explain {code}` names no cure")

    def good(self, *arguments, **options):
        run = self.run(*arguments, **options)
        if run.exit_code != 0:
            run.fail("expected success")
        return run

    def unchanged(self, folder, before, run, added=()):
        """The folder holds what it held: nothing lost, nothing half-written, no temporary files left."""
        after = {name: content for name, content in snapshot(folder).items() if name not in added}
        if after != before:
            names = sorted(name for name in set(before) | set(after) if before.get(name, 0) != after.get(name, 0))
            run.fail(f"changed or left behind: {', '.join(names)}")


# Mounts --------------------------------------------------------------------------------------------------------------

def mount_prefix():
    """The command that gives a process mounts of its own; Skipped where that is not permitted."""
    for prefix in (["unshare", "-m"], ["unshare", "-rm"]):
        probe = prefix + ["sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt && touch /mnt/x"]
        try:
            if subprocess.run(probe, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
                return prefix
        except FileNotFoundError:
            raise Skipped("no program `unshare`") from None
    raise Skipped("private mounts are not permitted here")


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


def small_disk(folder, size_kib):
    folder.mkdir(parents=True, exist_ok=True)
    mount("-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs", folder)


def make_read_only(folder):
    mount("-o", "remount,ro", folder)


def limit_address_space(mib):
    def prepare():
        resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))
    return prepare
