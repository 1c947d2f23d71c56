#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input and bad outputs for every command that reads or writes files; bad_input_harness.py says what must hold.

Usage: run_bad_input.py --list
       run_bad_input.py --program PROGRAM --data FOLDER [--sanitized] CASE...
       run_bad_input.py --self-test
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import bad_input_harness as harness
from bad_input_harness import Broken, Skipped, World, snapshot

CASES = {}
# These run in a process with mounts of its own.
MOUNT_CASES = set()


def case(function):
    CASES[function.__name__] = function
    return function


def mount_case(function):
    MOUNT_CASES.add(function.__name__)
    return case(function)


# Programs ------------------------------------------------------------------------------------------------------------

HEADER = "from tilewright import *\n\n"
GOOD = HEADER + """@kernel(target="sm_80", threads=128)
def twice(X: In[f32, (M, N)], Y: Out[f32, (M, N)]):
    for bm, bn in tiles(cdiv(M, 32), cdiv(N, 32)):
        x = load(X[bm*32:+32, bn*32:+32])
        store(x + x, Y[bm*32:+32, bn*32:+32])
"""


def every_reader(world, path, exit_code, code, says=None):
    """Every command that reads a tile program refuses this one in the same way."""
    for arguments in (["check", path], ["emit", path], ["run", path], ["layout", path, "--tile=x"], ["bench", "mutants", path],
                      ["run", path, "--task", world.task()], ["check", world.kernel(), path]):
        world.refused(arguments, exit_code, code, says)
    # The author's start is a tile program too; its target is the task's, and an empty name means none.
    if "TW1003" not in code and path != "":
        world.refused(["optimize", world.task(), "--from", path, "--store", world.folder / "store", "--budget=steps=1"], exit_code, code,
                      says)


@case
def program_empty(world):
    every_reader(world, world.file("empty.tw.py", ""), 1, "TW1042")


@case
def program_of_blank_lines(world):
    every_reader(world, world.file("blank.tw.py", "\n  \n\n" * 1000), 1, ("TW1042",))


@case
def program_binary(world):
    content = bytes((i * 167 + 13) % 256 for i in range(5000))
    every_reader(world, world.file("binary.tw.py", content), 2, "TW0001")


@case
def program_with_nul(world):
    every_reader(world, world.file("nul.tw.py", GOOD.replace("twice", "tw\0ce")), 2, "TW0001", "0x00")


@case
def program_not_utf8(world):
    every_reader(world, world.file("latin1.tw.py", GOOD.encode() + b"# \xe4\xf6\n"), 2, "TW0001", "0xe4")
    # A sequence that is cut off, one that is too long for what it says, a surrogate.
    for tail in (b"\xe2\x82", b"\xc0\xaf", b"\xed\xa0\x80"):
        every_reader(world, world.file("cut.tw.py", GOOD.encode() + b"# " + tail), 2, "TW0001")


@case
def program_of_one_long_line(world):
    every_reader(world, world.file("comment.tw.py", "# " + "a" * 10_000_000), 2, "TW0002", "at most 1048576")
    every_reader(world, world.file("sum.tw.py", "x = 1" + " + 1" * 2_500_000), 2, "TW0002")


@case
def program_longer_than_memory_for_input(world):
    every_reader(world, world.file("long.tw.py", b"#\n" * (33 << 20)), 2, "TW8004", "longer than")


@case
def program_without_end(world):
    every_reader(world, "/dev/zero", 2, "TW8004", "longer than")


@case
def program_of_100k_parentheses(world):
    for open_close in ("()", "[]", "{}"):
        text = HEADER + "x = " + open_close[0] * 100_000 + "1" + open_close[1] * 100_000 + "\n"
        every_reader(world, world.file("deep.tw.py", text), 2, "TW0013", "nested deeper than")
    every_reader(world, world.file("open.tw.py", HEADER + "x = " + "(" * 100_000), 2, ("TW0013", "TW0005"))
    every_reader(world, world.file("close.tw.py", HEADER + "x = " + ")" * 100_000), 2, "TW0006")


@case
def program_of_deep_expressions(world):
    for text in ("not " * 100_000 + "1", "-" * 100_000 + "1", "a" + ".b" * 100_000, "a" + "()" * 100_000, "1" + "**1" * 100_000,
                 "a" + "[1]" * 100_000, "1" + "+1" * 100_000, "1 if a else " * 50_000 + "1", "lambda x: " * 50_000 + "1"):
        world.refused(["check", world.file("deep.tw.py", HEADER + "x = " + text + "\n")], 2, ("TW0013", "TW0012", "TW0014"))


@case
def program_of_long_flat_expressions(world):
    # Not deep for the parser; an assignment at the top level is what is wrong then.
    for text in ("a and " * 100_000 + "1", "(" + "1, " * 100_000 + ")", "f(" + "1, " * 100_000 + ")", "a < " * 100_000 + "1"):
        run = world.run("check", world.file("flat.tw.py", HEADER + "x = " + text + "\n"))
        if run.exit_code not in (1, 2) or not run.codes():
            run.fail("expected a refusal")


@case
def program_of_100k_nested_ifs(world):
    nested = "".join(" " * i + "if M > 1:\n" for i in range(1, 100_001, 100))
    every_reader(world, world.file("wide.tw.py", GOOD + nested), 2, "TW0002")
    # As deep as the largest file can be.
    text = GOOD + "".join(" " * (i + 4) + "if M > 1:\n" for i in range(1300)) + " " * 1304 + "pass\n"
    every_reader(world, world.file("ifs.tw.py", text), 2, "TW0013", "deeper than")
    loops = GOOD + "".join(" " * (i + 4) + "for k in range(M):\n" for i in range(1300)) + " " * 1304 + "pass\n"
    every_reader(world, world.file("loops.tw.py", loops), 2, "TW0013", "deeper than")


@case
def program_of_a_long_elif_chain(world):
    text = GOOD + "    if M > 1:\n        pass\n" + "    elif M > 2:\n        pass\n" * 20_000
    for command in (["check"], ["emit"], ["run"]):
        run = world.run(*command, world.file("elif.tw.py", text))
        if run.exit_code == 0 or not run.codes():
            run.fail("expected a refusal")


@case
def program_of_very_many_statements(world):
    # Large, legal and right: accepted or refused with a reason, within the limits.
    body = "".join(f"        y{i} = x + {i}.0\n" for i in range(8000))
    text = GOOD.replace("        store(x + x", body + "        store(x + x")
    run = world.run("check", world.file("many.tw.py", text), limit_s=60)
    if run.exit_code not in (0, 1, 3) or (run.exit_code == 1 and not run.codes()):
        run.fail("expected a verdict")


@case
def program_with_unknown_names(world):
    every_reader(world, world.file("name.tw.py", GOOD.replace("x + x", "x + nothing")), 1, "TW1001", "nothing")
    every_reader(world, world.file("call.tw.py", GOOD.replace("load(", "lead(")), 1, ("TW1001", "TW1004"), "lead")


@case
def program_for_an_unknown_target(world):
    every_reader(world, world.file("target.tw.py", GOOD.replace("sm_80", "sm_12")), 1, ("TW1003",), "sm_80")


@case
def target_option_unknown(world):
    for arguments in (["check"], ["emit"], ["run"], ["layout", "--tile=x"]):
        world.refused([*arguments, world.kernel(), "--target=sm_12"], 1, "TW1003", "known targets are")
    world.refused(["optimize", world.task(), "--target=sm_12", "--store", world.folder / "store"], 2, "TW8001", "known targets are")


@case
def program_that_cannot_be_read(world):
    world.file("file", "x")
    (world.folder / "loop.tw.py").symlink_to("loop.tw.py")
    (world.folder / "dangling.tw.py").symlink_to("nothing")
    for path, says in (("nothing.tw.py", "no such file"), (world.folder, "it is a folder"), ("file/x.tw.py", "not a folder"),
                       ("loop.tw.py", "links"), ("dangling.tw.py", "no such file"), ("n" * 5000, "long"), ("", "no such file")):
        every_reader(world, path, 2, "TW8004", says)


@case
def program_without_permission(world):
    path = world.file("secret.tw.py", GOOD)
    os.chmod(path, 0)
    prepare = None
    if os.geteuid() == 0:
        # Root may read everything; another user may not, if it can run the program at all.
        os.chmod(world.folder, 0o755)

        def prepare():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        probe = subprocess.run([world.program, "--version"], preexec_fn=prepare, check=False, capture_output=True,
                               cwd=world.folder) if os.access(world.program, os.X_OK) else None
        if probe is None or probe.returncode != 0:
            raise Skipped("another user cannot run the program of this build")
    for arguments in (["check", path], ["emit", path], ["run", path], ["bench", "mutants", path]):
        world.refused(arguments, 2, "TW8004", "permission", prepare=prepare)


@case
def parameters_that_make_no_sense(world):
    for value in ("BM", "BM=", "=1", "BM=x", "BM=1e3", "BM=99999999999999999999", "BM=64 "):
        world.refused(["check", world.kernel(), f"--param={value}"], 2, "TW8001", formats=("text",))
    for value in ("NOTHING=1", "BM=0", "BM=-1", "BM=9223372036854775807", "BM=3"):
        run = world.run("check", world.kernel(), f"--param={value}")
        if run.exit_code not in (0, 1, 3) or (run.exit_code == 1 and not run.codes()):
            run.fail("expected a verdict or an error")
    for value in ("M=0", "M=-5", "M=9223372036854775807", "M=1000000000"):
        run = world.run("run", world.kernel(), f"--size={value}", "--size=N=1", "--size=K=1")
        if run.exit_code != 0 and not run.codes() and b"wrong" not in run.out:
            run.fail("expected a result or an error")


@case
def command_line_that_is_wrong(world):
    for arguments in ([], ["nothing"], ["check"], ["emit"], ["run"], ["layout"], ["layout", "x"], ["show-cex"], ["bench"], ["report"],
                      ["export"], ["explain"], ["check", "x", "--nothing"], ["check", "x", "--format=xml"],
                      ["emit", "x", "--to=elf"], ["optimize", "x", "--author=nobody"], ["run", "x", "--seed=many"],
                      ["bench", "mutants", "--count=many"]):
        world.refused(arguments, 2, "TW8001", formats=("text",))
    world.refused(["bench", "nothing"], 2, "TW8011")
    world.refused(["explain", "TW0000"], 2, "TW8002")
    world.refused(["run", world.kernel(), "--on=moon"], 2, "TW8001")
    world.refused(["run", world.kernel(), "--size=Q=3"], 2, "TW8001")
    world.refused(["layout", world.kernel(), "--tile=nothing"], 2, "TW8007")


# Tasks ---------------------------------------------------------------------------------------------------------------

def every_task_reader(world, path, code, says=None):
    world.refused(["optimize", path, "--store", world.folder / "store"], 2, code, says)
    world.refused(["optimize", path, "--dry-run", "--store", world.folder / "store"], 2, code, says)
    world.refused(["run", world.kernel(), "--task", path], 2, code, says)


def good_task(world):
    return Path(world.task()).read_text()


@case
def task_missing(world):
    world.file("file", "x")
    for path in ("nothing.toml", world.folder, "gemm_bf61", "file/task.toml", "n" * 5000):
        every_task_reader(world, path, "TW8100")
    world.refused(["optimize", "--store", world.folder / "store"], 2, "TW8001", "a task is needed")


@case
def task_empty(world):
    every_task_reader(world, world.file("empty.toml", ""), "TW8103")


@case
def task_binary(world):
    content = bytes((i * 167 + 13) % 256 for i in range(5000))
    every_task_reader(world, world.file("binary.toml", content), ("TW8100", "TW8101"))
    every_task_reader(world, world.file("nul.toml", good_task(world) + "\0"), ("TW8100", "TW8101"))
    every_task_reader(world, world.file("latin1.toml", good_task(world).encode() + b"# \xe4\xf6\n"), ("TW8100", "TW8101"))


@case
def task_malformed(world):
    good = good_task(world)
    for text in ("[[[", "a = ", "= 1", "a = 1\na = 2\n", good + "\n[sizes]\n", good.replace("'''", "", 1), good.replace("[goal]", "[goal"),
                 good + "x = 99999999999999999999999\n", good + 'x = "\\q"\n', good + "x = 1979-99-99\n"):
        every_task_reader(world, world.file("malformed.toml", text), "TW8101")


@case
def task_of_one_long_line(world):
    every_task_reader(world, world.file("line.toml", "# " + "a" * 10_000_000), "TW8100")
    every_task_reader(world, world.file("line.toml", 'x = "' + "a" * 900_000 + '"'), ("TW8103", "TW8104"))


@case
def task_nested_deeply(world):
    for text in ("a = " + "[" * 100_000, "a = " + "[" * 100_000 + "]" * 100_000, "a = " + "{a=" * 100_000, "a" + ".a" * 100_000 + " = 1",
                 "[" + "a." * 100_000 + "a]", "[" * 100_000):
        every_task_reader(world, world.file("deep.toml", text), ("TW8101", "TW8103", "TW8104"))
    for expression in ("(" * 100_000 + "A[m, k]" + ")" * 100_000, "-" * 100_000 + "1", "1" + "+1" * 100_000, "1" + "*A[m,m]" * 50_000,
                       "exp(" * 100_000 + "1" + ")" * 100_000, "sum(k, " * 50_000 + "1" + ")" * 50_000, "A[" * 100_000 + "0" + "]" * 100_000,
                       "not " * 100_000 + "1", "1 if 1 else " * 50_000 + "1"):
        text = good_task(world).replace("sum(k, A[m, k] * B[n, k])", expression)
        every_task_reader(world, world.file("deep.toml", text), ("TW8120", "TW8121", "TW8122", "TW8123", "TW8125", "TW8126", "TW8127"))


@case
def task_with_unknown_names(world):
    good = good_task(world)
    every_task_reader(world, world.file("key.toml", good.replace("[goal]", "[gaol]")), "TW8104", "gaol")
    every_task_reader(world, world.file("size.toml", good.replace('["M", "K"]', '["M", "Q"]')), "TW8107", "Q")
    every_task_reader(world, world.file("tensor.toml", good.replace("A[m, k]", "C[m, k]")), "TW8121", "C")
    every_task_reader(world, world.file("type.toml", good.replace('"bf16"', '"bf17"')), "TW8106", "bf17")
    every_task_reader(world, world.file("schema.toml", good.replace("tw.task/1", "tw.task/9")), "TW8102", "tw.task/9")
    every_task_reader(world, world.file("kind.toml", good.replace("[sizes]", "[[sizes]]", 1)), ("TW8101", "TW8105"))


@case
def task_for_an_unknown_target(world):
    path = world.file("target.toml", good_task(world).replace("sm_80", "sm_12"))
    world.refused(["optimize", path, "--store", world.folder / "store"], 2, ("TW8001", "TW8106"), "sm_12")


@case
def task_of_absurd_sizes(world):
    good = good_task(world)
    for change in (("M = { min = 1 }", "M = { min = 9223372036854775807 }"), ("M = { min = 1 }", "M = { min = -1 }"),
                   ("M = { min = 1 }", "M = { min = 5, max = 2 }"), ("M = 4096", "M = 9223372036854775807"), ("M = 4096", "M = 0"),
                   ("M = { min = 1 }", 'M = { min = "1" }'), ("fraction = 0.7", "fraction = nan"), ("fraction = 0.7", "fraction = -1.0")):
        text = good.replace(*change)
        if text == good:
            raise Broken(f"the task holds no `{change[0]}`")
        every_task_reader(world, world.file("absurd.toml", text), ("TW8105", "TW8106", "TW8109"))


@case
def optimize_options_that_make_no_sense(world):
    store = ["--store", world.folder / "store"]
    for option in ("--budget=time=10", "--budget=steps=0", "--budget=steps=-1", "--budget=nothing", "--budget=steps=99999999999999999999",
                   "--without=no_such_move", "--on=gpu"):
        world.refused(["optimize", world.task(), option, *store], 2, "TW8001")
    world.refused(["optimize", world.task(), "--from=nothing.tw.py", *store], 2, ("TW8001", "TW8004"), "no such file")
    world.refused(["optimize", "--resume", *store], 2, "TW8001", "no unfinished run")
    world.refused(["optimize", "--resume=nothing", *store], 2, "TW8013")


# Counterexamples -----------------------------------------------------------------------------------------------------

# Nothing makes a warp wait for the copies of the other warps.
RACE = HEADER + """@kernel(target="sm_80", threads=128, sync="manual")
def gemm(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[f32, (M, N)]):
    assume(M % 64 == 0, N % 64 == 0, K % 32 == 0)
    sA = shared(bf16, (64, 32), swizzle=64)
    sB = shared(bf16, (64, 32), swizzle=64)
    for bm, bn in tiles(M // 64, N // 64):
        acc = zeros(f32, (64, 64))
        for k in range(K // 32):
            copy(A[bm*64:+64, k*32:+32], sA, via=cp_async)
            copy(B[bn*64:+64, k*32:+32], sB, via=cp_async)
            drain(cp_async)
            acc = mma(load(sA), load(sB), acc, via=mma_m16n8k16)
            sync()
        store(acc, D[bm*64:+64, bn*64:+64])
"""


def counterexample(world):
    path = world.file("race.tw.py", RACE)
    run = world.run("check", path, "--cex", world.folder / "cex")
    written = sorted((world.folder / "cex").glob("*.json"))
    if run.exit_code != 1 or not written:
        run.fail("expected a refutation with a counterexample")
    return path, written[0]


@case
def counterexample_that_is_none(world):
    program, good = counterexample(world)
    world.good("show-cex", good)
    text = good.read_text()
    broken = {
        "empty.json": "", "binary.json": bytes((i * 167 + 13) % 256 for i in range(5000)), "nul.json": text.replace("schema", "sch\0ma"),
        "latin1.json": text.encode().replace(b"race", b"r\xe4ce"), "list.json": "[]", "cut.json": text[:200], "other.json": '{"schema": "x"}',
        "line.json": '{"schema": "' + "a" * 10_000_000 + '"}', "arrays.json": "[" * 100_000, "closed.json": "[" * 100_000 + "]" * 100_000,
        "objects.json": '{"a":' * 100_000, "number.json": "9" * 100_000, "twice.json": text + text,
    }
    for name, content in broken.items():
        path = world.file(name, content)
        world.refused(["show-cex", path], 2, "TW8008")
        world.refused(["run", program, "--replay", path], 2, "TW8008")
    for path, says in (("nothing.json", "no such file"), (world.folder, "it is a folder"), ("/dev/zero", "longer than")):
        world.refused(["show-cex", path], 2, "TW8004", says)
        world.refused(["run", program, "--replay", path], 2, "TW8004", says)


@case
def counterexample_with_wrong_members(world):
    """Each member in turn missing or of another type: shown, replayed, or refused, never a crash."""
    program, good = counterexample(world)
    value = json.loads(good.read_text())
    junk = (None, -1, 2**63 - 1, 1e300, "x", [], [[]], {}, {"x": "y"}, True)
    for name in value:
        for other in (*junk, ...):
            changed = {key: member for key, member in value.items() if key != name}
            if other is not ...:
                changed[name] = other
            path = world.file("changed.json", json.dumps(changed))
            for arguments in (["show-cex", path], ["run", program, "--replay", path]):
                run = world.run(*arguments)
                if run.exit_code == 2 and not run.codes():
                    run.fail("refused without a code")


@case
def counterexample_of_another_program(world):
    _, good = counterexample(world)
    world.refused(["run", world.kernel(), "--replay", good], 2, ("TW8008",))


# The run store -------------------------------------------------------------------------------------------------------

STORE_READERS = (["report", "x"], ["export", "x"], ["status", "x"], ["show", "x"], ["runs"], ["runs", "diff", "x", "y"])


@case
def store_missing_or_no_store(world):
    (world.folder / "empty").mkdir()
    for arguments in STORE_READERS:
        if arguments != ["runs"]:
            world.refused([*arguments, "--store", world.folder / "nothing"], 2, "TW8013")
            world.refused([*arguments, "--store", world.folder / "empty"], 2, "TW8013")
            world.file("file", "x")
            world.refused([*arguments, "--store", world.folder / "file"], 2, "TW8013", "there is no run store")
    run = world.run("optimize", world.task(), "--store", world.folder / "file")
    if run.exit_code != 4 or "TW8012" not in run.codes() or (world.folder / "file").read_text() != "x":
        run.fail("expected TW8012, and the file as it was")


@case
def store_damaged(world):
    store = world.folder / "store"
    optimize(world, store)
    content = (store / "runs.sqlite").read_bytes()
    for damaged in (b"damaged", os.urandom(5000), content[:1000], content[: len(content) // 2], content[:100] + os.urandom(3000) + content[3100:]):
        (store / "runs.sqlite").write_bytes(damaged)
        for extra in ("runs.sqlite-wal", "runs.sqlite-shm"):
            (store / extra).unlink(missing_ok=True)
        for arguments in (["report", "gemm_bf16"], ["export", "2"], ["runs"], ["status", "2"], ["show", "2"]):
            run = world.run(*arguments, "--store", store)
            if run.exit_code not in (2, 4) or not set(run.codes()) & {"TW8012", "TW8013"}:
                run.fail("expected TW8012")
        run = world.run("optimize", world.task(), "--budget=steps=2", "--store", store)
        if run.exit_code != 4 or "TW8012" not in run.codes():
            run.fail("expected TW8012")


def optimize(world, store, *options):
    return world.run("optimize", world.task(), "--budget=steps=8", "--store", store, *options, limit_s=60)


@case
def store_with_lost_content(world):
    store = world.folder / "store"
    world.good("optimize", world.task(), "--budget=steps=8", "--store", store, limit_s=60)
    run_id = json.loads(world.good("runs", "--format=json", "--store", store).out)["runs"][-1]["id"]
    for blob in (store / "blobs").rglob("*"):
        if blob.is_file():
            blob.chmod(0o644)
            blob.write_text("something else")
    for arguments in (["report", run_id], ["export", run_id], ["show", run_id], ["status", run_id]):
        run = world.run(*arguments, "--store", store)
        if run.exit_code != 0 and not run.codes():
            run.fail("refused without a code")


@case
def run_unknown(world):
    store = world.folder / "store"
    optimize(world, store)
    for name in ("nothing", "", "*", "' OR 1=1 --", "../../etc/passwd", "n" * 100_000):
        for arguments in (["report", name], ["export", name], ["status", name], ["show", name], ["runs", "diff", name, name]):
            run = world.run(*arguments, "--store", store)
            if run.exit_code != 2 or not run.codes():
                if name == "" and run.exit_code == 0:
                    continue  # every id begins with nothing, and there is one run
                run.fail("expected exit code 2 with a code")
    run_id = json.loads(world.good("runs", "--format=json", "--store", store).out)["runs"][-1]["id"]
    for step in ("99999", "-1", "x", "99999999999999999999"):
        world.refused(["show", "--store", store, "--", run_id, step], 2, "TW8001", formats=("text",))


# Outputs -------------------------------------------------------------------------------------------------------------

def writers(world, output):
    """(arguments, exit code when all is well) of every command that writes the file `output`."""
    store = world.folder / "store"
    if not store.exists():
        world.good("optimize", world.task(), "--budget=steps=8", "--store", store, limit_s=60)
    run_id = json.loads(world.good("runs", "--format=json", "--store", store).out)["runs"][-1]["id"]
    return (["emit", world.kernel(), "-o", output], ["report", run_id, "--store", store, "-o", output],
            ["export", run_id, "--store", store, "-o", output],
            ["bench", "mutants", world.kernel(), "--count=1", "-o", output])


def folder_writers(world, folder):
    race = world.file("race.tw.py", RACE)
    return (["optimize", world.task(), "--budget=steps=3", "--store", world.folder / "store", "-o", folder],
            ["check", race, "--cex", folder])


@case
def output_where_no_file_can_be(world):
    world.file("file", "before")
    (world.folder / "out").mkdir()
    world.file("out/kept", "before")
    for output, says in ((world.folder / "out", "it is a folder"), ("missing/x", "no such file or folder"), ("file/x", "not a folder"),
                         ("n" * 300, "long"), ("/proc/nothing", "")):
        for arguments in writers(world, output):
            run = world.refused(arguments, 2, "TW8005", says)
            world.unchanged(world.folder / "out", {"kept": b"before"}, run)
    if (world.folder / "file").read_text() != "before":
        raise Broken("the file is not what it was")


@case
def output_folder_that_is_a_file(world):
    world.file("file", "before")
    for folder in (world.folder / "file", world.folder / "file/sub", "/proc/nothing"):
        for arguments in folder_writers(world, folder):
            run = world.refused(arguments, 2, "TW8005")
            if "optimize" in arguments and "draft" in run.err:
                run.fail("the run began although its results cannot be written")
    if (world.folder / "file").read_text() != "before":
        raise Broken("the file is not what it was")


@case
def output_folder_with_a_folder_of_that_name(world):
    for name in ("kernel.tw.py", "kernel.cu", "proof.json", "report.html"):
        out = world.folder / f"out-{name}"
        (out / name).mkdir(parents=True)
        (out / "kept").write_text("before")
        before = snapshot(out)
        run = world.refused(folder_writers(world, out)[0], 2, "TW8005", "it is a folder")
        world.unchanged(out, before, run)


@case
def output_twice(world):
    for arguments in writers(world, "twice"):
        world.good(*arguments)
        first = (world.folder / "twice").read_bytes()
        world.good(*arguments)
        second = (world.folder / "twice").read_bytes()
        if arguments[0] in ("emit", "export") and first != second:
            raise Broken(f"{arguments[0]} writes something else the second time")
        if not second:
            raise Broken(f"{arguments[0]} wrote nothing")
    out = world.folder / "out"
    command = ["optimize", world.task(), "--budget=steps=12", "--store", world.folder / "store", "-o", out]
    world.good(*command, limit_s=60)
    (out / "mine").write_text("not yours")
    first = snapshot(out)
    run = world.good(*command, limit_s=60)
    second = snapshot(out)
    if set(first) != set(second) or second["mine"] != b"not yours":
        run.fail(f"the second run left {sorted(second)}, the first {sorted(first)}")
    if first["kernel.tw.py"] != second["kernel.tw.py"] or first["kernel.cu"] != second["kernel.cu"]:
        run.fail("the same task and seed gave another kernel")
    listed = json.loads(world.good("runs", "--format=json", "--store", world.folder / "store").out)["runs"]
    if len(listed) < 3 or len({entry["id"] for entry in listed}) != len(listed):
        run.fail("both runs are kept in the store, each under its own id")


@case
def output_into_the_input(world):
    path = world.file("kernel.tw.py", GOOD)
    run = world.refused(["emit", path, "-o", path], 2, ("TW8005", "TW8001"))
    if Path(path).read_text() != GOOD:
        run.fail("the program was overwritten")


def stdout_commands(world):
    store = world.folder / "store"
    writers(world, "unused")
    return (["check", world.kernel()], ["emit", world.kernel()], ["run", world.kernel()], ["layout", world.kernel("gemm/ampere"), "--tile=sA"],
            ["report", "gemm_bf16", "--store", store], ["export", "gemm_bf16", "--store", store], ["runs", "--store", store],
            ["show", "gemm_bf16", "--store", store], ["status", "gemm_bf16", "--store", store],
            ["show-cex", counterexample(world)[1]], ["bench", "mutants", world.kernel(), "--count=1"], ["explain", "TW1001"], ["doctor"],
            ["optimize", world.task(), "--budget=steps=2", "--store", store], ["optimize", world.task(), "--dry-run", "--store", store],
            ["--help"], ["--version"], ["check", "--help"])


def named_run(world, arguments):
    """The command with the id of the newest run in place of the word `gemm_bf16`."""
    if "gemm_bf16" not in arguments:
        return arguments
    listed = json.loads(world.good("runs", "--format=json", "--store", world.folder / "store").out)["runs"]
    return [listed[-1]["id"] if word == "gemm_bf16" else word for word in arguments]


@case
def stdout_full(world):
    for arguments in stdout_commands(world):
        with open("/dev/full", "wb") as full:
            world.refused(named_run(world, arguments), 2, "TW8005", "no space left", stdout=full, formats=("text",))
    with open("/dev/full", "wb") as full:
        world.refused(["check", world.kernel()], 2, "TW8005", stdout=full, formats=("json",))


@case
def stdout_closed(world):
    for arguments in stdout_commands(world):
        world.refused(named_run(world, arguments), 2, "TW8005", "standard output", prepare=lambda: os.close(1), formats=("text",))
    # What would land in the file if it got the number of standard output.
    listed = json.loads(world.good("runs", "--format=json", "--store", world.folder / "store").out)["runs"]
    world.good("export", listed[-1]["id"], "--store", world.folder / "store")


@case
def stdout_is_a_broken_pipe(world):
    for arguments in stdout_commands(world):
        reader, writer = os.pipe()
        os.close(reader)
        run = world.run(*named_run(world, arguments), stdout=writer)
        os.close(writer)
        # The reader had enough: no message, and the command's own exit code.
        if run.exit_code != 0 or run.codes():
            run.fail("expected exit code 0 and no error")


@case
def stderr_closed_or_full(world):
    wrong = world.file("wrong.tw.py", GOOD.replace("x + x", "x + nothing"))

    def full():
        os.dup2(os.open("/dev/full", os.O_WRONLY), 2)

    for prepare in (lambda: os.close(2), full, lambda: (os.close(0), os.close(1), os.close(2))):
        run = world.run("check", wrong, prepare=prepare)
        if run.exit_code not in (1, 2):
            run.fail("expected exit code 1, or 2 without standard output")
        for arguments in (["optimize", world.task(), "--budget=steps=3", "--store", world.folder / "store", "-o", world.folder / "out"],
                          ["bench", "mutants", world.kernel(), "--count=2", "-o", world.folder / "bench.json"]):
            run = world.run(*arguments, prepare=prepare)
            if run.exit_code not in (0, 2):
                run.fail("expected success, or exit code 2 without standard output")


@case
def output_to_a_device(world):
    for arguments in writers(world, "/dev/full"):
        world.refused(arguments, 2, "TW8005", "no space left")
    for arguments in writers(world, "/dev/null"):
        world.good(*arguments)


@case
def fix_keeps_a_file_that_cannot_be_replaced(world):
    path = world.file("race.tw.py", RACE)
    world.run("check", path, "--fix")
    if not Path(path).read_text().startswith(HEADER):
        raise Broken("the program is not whole after --fix")
    if os.geteuid() != 0:
        path = world.file("fixed.tw.py", RACE)
        os.chmod(path, 0o444)
        world.run("check", path, "--fix")
        if Path(path).read_text() != RACE:
            raise Broken("a file that may not be written was replaced")


@mount_case
def read_only_mount(world):
    disk = world.folder / "disk"
    harness.small_disk(disk, 4096)
    (disk / "kernel.cu").write_text("before")
    (disk / "race.tw.py").write_text(RACE)
    world.good("optimize", world.task(), "--budget=steps=8", "--store", disk / "store", limit_s=60)
    listed = json.loads(world.good("runs", "--format=json", "--store", disk / "store").out)["runs"]
    writers(world, "unused")
    harness.make_read_only(disk)
    before = snapshot(disk)
    for arguments in (*writers(world, disk / "kernel.cu"), *writers(world, disk / "new"), *folder_writers(world, disk),
                      *folder_writers(world, disk / "sub")):
        run = world.refused(arguments, 2, "TW8005", "mounted read-only")
        world.unchanged(disk, before, run)
    run = world.run("check", disk / "race.tw.py", "--fix")
    world.unchanged(disk, before, run)
    run = world.refused(["optimize", world.task(), "--store", disk / "store"], 4, "TW8012", "read-only")
    world.unchanged(disk, before, run)
    run = world.refused(["optimize", world.task(), "--store", disk / "new-store"], 4, "TW8012", "read-only")
    # What was recorded can still be read.
    again = json.loads(world.good("runs", "--format=json", "--store", disk / "store").out)["runs"]
    if [entry["id"] for entry in again] != [entry["id"] for entry in listed]:
        run.fail("a store on a read-only disk does not list its runs")
    for command in ("report", "export", "status", "show"):
        world.good(command, listed[0]["id"], "--store", disk / "store")


@mount_case
def full_disk(world):
    disk = world.folder / "disk"
    harness.small_disk(disk, 64)
    names = ("kernel.tw.py", "kernel.cu", "proof.json", "report.html", "one")
    for name in names:
        (disk / name).write_text("before")
    # Room for a file of a page, not for a kernel: the failure is in the middle of the work.
    (disk / "ballast").write_bytes(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - 4096))
    short = ("report", "bench")
    before = snapshot(disk)
    for arguments in writers(world, disk / "one"):
        if arguments[0] not in short:
            run = world.refused(arguments, 2, "TW8005", "no space left")
            world.unchanged(disk, before, run)
    run = world.refused(["optimize", world.task(), "--budget=steps=8", "--store", world.folder / "store", "-o", disk], 2, "TW8005",
                        "no space left", limit_s=60)
    world.unchanged(disk, before, run)
    # What was found is not lost: the run is in the store and can be delivered elsewhere.
    out = world.folder / "elsewhere"
    world.good("optimize", "--resume", "--store", world.folder / "store", "-o", out, limit_s=60)
    if not (out / "kernel.cu").exists():
        run.fail("the run could not be delivered elsewhere")
    # No room at all.
    with open(disk / "ballast", "ab") as ballast:
        try:
            ballast.write(bytes(65536))
        except OSError:
            pass
    before = snapshot(disk)
    for arguments in (*writers(world, disk / "one"), *folder_writers(world, disk)):
        if arguments[0] != "optimize":
            run = world.refused(arguments, 2, "TW8005", "no space left")
            world.unchanged(disk, before, run)


@mount_case
def full_disk_under_the_store(world):
    disk = world.folder / "disk"
    harness.small_disk(disk, 1024)
    store = disk / "store"
    world.good("optimize", world.task(), "--budget=steps=4", "--store", store, limit_s=60)
    kept = json.loads(world.good("runs", "--format=json", "--store", store).out)["runs"]
    (disk / "ballast").write_bytes(bytes(max(0, os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - 65536)))
    run = world.refused(["optimize", world.task(), "--store", store, "-o", world.folder / "out"], 4, "TW8012", "space", limit_s=60,
                        formats=("text",))
    again = json.loads(world.good("runs", "--format=json", "--store", store).out)["runs"]
    if [entry["id"] for entry in again][: len(kept)] != [entry["id"] for entry in kept]:
        run.fail("a run that was recorded is not listed any more")
    world.good("export", kept[0]["id"], "--store", store)
    # With room again the interrupted run goes on.
    (disk / "ballast").unlink()
    harness.mount("-o", "remount,size=64m", disk)
    if len(again) > len(kept):
        world.good("optimize", f"--resume={again[-1]['id']}", "--store", store, "-o", world.folder / "out", limit_s=60)
    tiny = world.folder / "tiny"
    harness.small_disk(tiny, 8)
    (tiny / "ballast").write_bytes(bytes(4096))
    world.refused(["optimize", world.task(), "--store", tiny / "store"], 4, "TW8012", "space", formats=("text",))


# -----------------------------------------------------------------------------------------------------------------------

def run_case(name, arguments):
    """0, 1 or SKIPPED."""
    if name in MOUNT_CASES and not arguments.in_namespace:
        try:
            prefix = harness.mount_prefix()
        except Skipped as reason:
            print(f"{name}: skipped: {reason}")
            return harness.SKIPPED
        command = [*prefix, sys.executable, __file__, "--program", arguments.program, "--data", arguments.data, "--in-namespace",
                   *(["--sanitized"] if arguments.sanitized else []), name]
        return subprocess.run(command, check=False).returncode
    world = World(arguments.program, arguments.data, arguments.sanitized)
    try:
        CASES[name](world)
    except Skipped as reason:
        print(f"{name}: skipped: {reason}")
        return harness.SKIPPED
    except Broken as broken:
        print(f"{name}: {broken}", file=sys.stderr)
        return 1
    finally:
        world.close()
    print(f"{name}: {world.runs} runs")
    return 0


def self_test():
    """Programs that break each of the rules must be found out."""
    pages = Path(__file__).resolve().parents[2]
    broken = {
        "crashes": "kill -SEGV $$",
        "bug": "exit 70",
        "trace": "echo 'x.cpp:3: runtime error: overflow' >&2; echo 'error[TW8004]' >&2; exit 2",
        "no code": "echo 'cannot read it' >&2; exit 2",
        "accepts": "exit 0",
        "other code": "echo 'error[TW0001]: x' >&2; exit 2",
        "hangs": "sleep 30",
        "no cure": "[ $1 = explain ] && { echo '# TW8004'; exit 0; }; echo 'error[TW8004]: x' >&2; exit 2",
        "replaces": "[ $1 = explain ] && { echo '# x'; echo do it; exit 0; }; echo lost >kept; echo 'error[TW8004]: x' >&2; exit 2",
    }
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, script in broken.items():
            program = Path(folder) / "program"
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
            world = World(program, pages, False)
            world.file("kept", "before")
            try:
                run = world.refused(["check", "x"], 2, "TW8004", formats=("text",), limit_s=1)
                world.unchanged(world.folder, {"kept": b"before", "home": None}, run)
                missed.append(name)
            except Broken:
                pass
            finally:
                world.close()
    print(f"{len(broken) - len(missed)} of {len(broken)} broken programs found out" + (f"; not: {missed}" if missed else ""))
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--program")
    parser.add_argument("--data")
    parser.add_argument("--sanitized", action="store_true")
    parser.add_argument("--in-namespace", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(CASES))
        return 0
    if arguments.self_test:
        return self_test()
    results = [run_case(name, arguments) for name in arguments.cases or CASES]
    return 1 if any(r not in (0, harness.SKIPPED) for r in results) else (harness.SKIPPED if set(results) == {harness.SKIPPED} else 0)


if __name__ == "__main__":
    sys.exit(main())
