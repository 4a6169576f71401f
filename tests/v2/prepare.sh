#!/bin/sh
# Gets what the test on a real cgroup v2 kernel needs: qemu, Debian's cloud kernel and a static busybox.
#
#   tests/v2/prepare.sh            qemu is installed with apt-get (as root) when it is missing
#
# The kernel and busybox are unpacked under target/v2 and not installed. Running it again costs nothing: whatever is
# there stays. Ends with 0 when all is there, otherwise with 1 and the reason.
set -eu
cd "$(dirname "$0")/../.."
dir=target/v2

fail() {
    echo "cannot prepare the v2 machine: $*" >&2
    exit 1
}

[ "$(uname -m)" = x86_64 ] || fail "this is not x86_64"
if command -v qemu-system-x86_64 >/dev/null && [ -s $dir/vmlinuz ] && [ -x $dir/busybox ]; then
    exit 0
fi
for tool in apt-get apt-cache dpkg-deb; do
    command -v $tool >/dev/null || fail "$tool is missing: packages are taken from Debian"
done
# An old list names versions that are gone. Without one nothing is found at all.
apt-get update -qq || fail "apt-get update failed"

if ! command -v qemu-system-x86_64 >/dev/null; then
    [ "$(id -u)" = 0 ] || fail "qemu-system-x86_64 is missing: apt-get install qemu-system-x86"
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends qemu-system-x86 >&2 </dev/null ||
        fail "apt-get install qemu-system-x86 failed"
fi

# unpack PACKAGE MEMBER FILE: one file out of a package, put in its place as a whole.
unpack() {
    mkdir -p "$dir/debs"
    (cd "$dir/debs" && apt-get -o APT::Sandbox::User=root download -qq "$1") || fail "apt-get download $1 failed"
    dpkg-deb --fsys-tarfile "$dir/debs/$1"_*.deb | tar -xO --wildcards "$2" >"$3.new" || fail "$1 has no $2"
    rm -f "$dir/debs/$1"_*.deb
    mv "$3.new" "$3"
}

if [ ! -x $dir/busybox ]; then
    unpack busybox-static './*bin/busybox' $dir/busybox
    chmod 755 $dir/busybox
fi
if [ ! -s $dir/vmlinuz ]; then
    # The metapackage depends on the kernel's own package, named after its version.
    kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
    [ -n "$kernel" ] || fail "there is no package linux-image-cloud-amd64"
    unpack "$kernel" './boot/vmlinuz-*' $dir/vmlinuz
fi
