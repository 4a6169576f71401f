"""The native engine against the C libraries that services use: CPU of a hash, page behaviour held equal.

    cargo build --release --example engine_cpu
    python engine_compare.py PATH_TO_engine_cpu [--rounds N] [--hashes N] [--settings 47104/1/1,...,bcrypt]

Argon2id against argon2-cffi (libargon2), with fresh pages (glibc.malloc.mmap_threshold=131072 there) and with kept ones
(mmap_max=0 and trim_threshold there); bcrypt 12 against crypt(3) of libxcrypt. Both run in turn, alone, in processes of
their own; the ratio is the median of the rounds' ratios, native / library, with the lowest and the highest.
"""

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

SCRIPT = pathlib.Path(__file__).with_name("hash_cost.py")
LIBRARY = {
    "fresh": "glibc.malloc.mmap_threshold=131072",
    "reused": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=8589934592",
}
SETTINGS = "102400/2/8,65536/3/4,47104/1/1,19456/2/1,bcrypt"


def output(command, **env):
    env = {**os.environ, "GLIBC_TUNABLES": "", **env}
    if not env["GLIBC_TUNABLES"]:
        del env["GLIBC_TUNABLES"]
    return json.loads(subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True).stdout)["cpu_ms"]


def native(binary, setting, pages, hashes):
    return output([binary, setting, pages, str(hashes)])


def libargon2(setting, pages, hashes):
    command = [sys.executable, str(SCRIPT), *setting.split("/"), "--hashes", str(hashes)]
    return output(command, GLIBC_TUNABLES=LIBRARY[pages])


def libxcrypt(cost, hashes):
    crypt = ctypes.CDLL("libcrypt.so.1").crypt
    crypt.restype = ctypes.c_char_p
    stored = crypt(b"correct horse battery", b"$2b$%02d$abcdefghijklmnopqrstuu" % cost)
    assert stored is not None and stored.startswith(b"$2b$"), stored
    start = time.process_time()
    for _ in range(hashes):
        crypt(b"correct horse battery", stored)
    return (time.process_time() - start) / hashes * 1000


def cases(binary, settings):
    for setting in settings:
        if setting == "bcrypt":
            yield "bcrypt:12", "-", lambda n: native(binary, "bcrypt:12", "reused", n), lambda n: libxcrypt(12, n)
            continue
        memory, passes, lanes = setting.split("/")
        ours = f"argon2id:m={memory},t={passes},p={lanes}"
        for pages in LIBRARY:
            yield (
                setting,
                pages,
                lambda n, ours=ours, pages=pages: native(binary, ours, pages, n),
                lambda n, setting=setting, pages=pages: libargon2(setting, pages, n),
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--hashes", type=int, default=5)
    parser.add_argument("--settings", default=SETTINGS)
    args = parser.parse_args()
    print(f"{'setting':12} {'pages':7} {'native ms':>9} {'library ms':>10} {'ratio':>6} {'range':>10}")
    for name, pages, ours, theirs in cases(args.binary, args.settings.split(",")):
        rounds = []
        for at in range(args.rounds):
            pair = [ours, theirs] if at % 2 == 0 else [theirs, ours]  # neither is always first
            seen = [run(args.hashes) for run in pair]
            rounds.append(tuple(seen if at % 2 == 0 else reversed(seen)))
        ratios = sorted(a / b for a, b in rounds)
        print(
            f"{name:12} {pages:7} {statistics.median(a for a, _ in rounds):9.1f} "
            f"{statistics.median(b for _, b in rounds):10.1f} {statistics.median(ratios):6.2f} "
            f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
