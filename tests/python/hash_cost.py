"""CPU time and minor page faults of one Argon2id hash by argon2-cffi (libargon2), in this process as it was started.

    python hash_cost.py MEMORY_KIB PASSES LANES [--hashes N] [--warm-up N] [--threads N]

One JSON object on standard output. The tunables under test are the caller's to set: GLIBC_TUNABLES is read by the C
library when a process starts. Faults tell fresh memory from kept memory without a clock: 256 a MiB, or one for 2 MiB with
huge pages, when the kernel has to provide it, and next to none when it is kept.
"""

import argparse
import json
import resource
import threading
import time

from argon2.low_level import Type, hash_secret_raw

PASSWORD = b"correct horse battery"
SALT = b"sixteen byte salt"[:16]


def hash_once(cost):
    memory, passes, lanes = cost
    hash_secret_raw(PASSWORD, SALT, passes, memory, lanes, 32, Type.ID)


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def client(cost, hashes, warm_up, first, barrier):
    for _ in range(warm_up):
        before = faults()
        hash_once(cost)
        first.append(faults() - before)
    barrier.wait()  # the main thread reads its clocks between the two
    barrier.wait()
    for _ in range(hashes):
        hash_once(cost)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cost", type=int, nargs=3, metavar=("MEMORY_KIB", "PASSES", "LANES"))
    parser.add_argument("--hashes", type=int, default=10, help="measured, for each thread")
    parser.add_argument("--warm-up", type=int, default=3, help="hashes before, for each thread")
    parser.add_argument("--threads", type=int, default=0, help="0: the main thread, as in a pre-forked worker")
    args = parser.parse_args()

    first = []
    if args.threads == 0:
        single = threading.Barrier(1)
        client(args.cost, 0, args.warm_up, first, single)
        start = time.process_time(), time.perf_counter(), faults()
        client(args.cost, args.hashes, 0, first, single)
    else:
        barrier = threading.Barrier(args.threads + 1)
        work = (args.cost, args.hashes, args.warm_up, first, barrier)
        threads = [threading.Thread(target=client, args=work) for _ in range(args.threads)]
        for thread in threads:
            thread.start()
        barrier.wait()
        start = time.process_time(), time.perf_counter(), faults()
        barrier.wait()
        for thread in threads:
            thread.join()
    done = args.hashes * max(args.threads, 1)
    print(
        json.dumps(
            {
                "cpu_ms": (time.process_time() - start[0]) / done * 1000,
                "wall_ms": (time.perf_counter() - start[1]) / args.hashes * 1000,
                "faults": (faults() - start[2]) / done,
                "first_faults": first,
                "peak_kib": int(
                    next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
                ),
                "resident_kib": int(
                    next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]
                ),
            }
        )
    )


if __name__ == "__main__":
    main()
