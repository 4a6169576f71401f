"""The page-fault tax on this machine: CPU and minor faults of a hash for each size, tunable and load.

    python tax_table.py [--rounds N] [--hashes N] [--settings 47104/1/1,...] [--loads alone,processes,threads]

Runs hash_cost.py in turn over all tunables, round after round, so that drift of the machine meets all of them alike, and
prints the median over the rounds. `processes` and `threads` keep as many hashes in flight as there are CPUs.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).with_name("hash_cost.py")
TUNABLES = {
    "plain": "",
    "hugetlb": "glibc.malloc.hugetlb=1",
    "kept": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=8589934592",
    "kept-arena1": "glibc.malloc.arena_max=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=8589934592",
    "huge-kept": "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1"
    ":glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=8589934592",
    "fresh": "glibc.malloc.mmap_threshold=131072",
}
SETTINGS = "19456/2/1,32256/1/1,32768/1/1,47104/1/1,65536/3/1,102400/2/8"


def start(setting, tunable, hashes, threads):
    env = dict(os.environ)
    env.pop("GLIBC_TUNABLES", None)
    if TUNABLES[tunable]:
        env["GLIBC_TUNABLES"] = TUNABLES[tunable]
    command = [sys.executable, str(SCRIPT), *setting.split("/"), "--hashes", str(hashes), "--threads", str(threads)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE)


def run(setting, tunable, load, hashes):
    cpus = len(os.sched_getaffinity(0))
    if load == "processes":
        children = [start(setting, tunable, hashes, 0) for _ in range(cpus)]
    else:
        children = [start(setting, tunable, hashes, cpus if load == "threads" else 0)]
    results = [json.loads(child.communicate()[0]) for child in children]
    return {key: statistics.mean(r[key] for r in results) for key in ("cpu_ms", "faults", "resident_kib")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hashes", type=int, default=8)
    parser.add_argument("--settings", default=SETTINGS)
    parser.add_argument("--loads", default="alone,processes,threads")
    parser.add_argument("--tunables", default="plain,hugetlb,kept,fresh")
    args = parser.parse_args()
    tunables = args.tunables.split(",")
    print(f"{'setting':12} {'load':9} {'tunable':12} {'CPU ms':>7} {'range':>15} {'faults':>7} {'resident MiB':>12}")
    for load in args.loads.split(","):
        for setting in args.settings.split(","):
            seen = {t: [] for t in tunables}
            for _ in range(args.rounds):
                for tunable in tunables:
                    seen[tunable].append(run(setting, tunable, load, args.hashes))
            for tunable, runs in seen.items():
                cpu = sorted(r["cpu_ms"] for r in runs)
                faults = statistics.median(r["faults"] for r in runs)
                resident = statistics.median(r["resident_kib"] for r in runs) / 1024
                spread = f"{cpu[0]:.1f}-{cpu[-1]:.1f}"
                print(
                    f"{setting:12} {load:9} {tunable:12} {statistics.median(cpu):7.1f} {spread:>15} {faults:7.0f} {resident:12.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
