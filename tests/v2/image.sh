#!/bin/sh
# Builds hashtune without shared libraries and packs it with busybox and tests/v2/init as target/v2/initramfs.
# tests/v2/prepare.sh comes first.
set -eu
cd "$(dirname "$0")/../.."
dir=target/v2
target=x86_64-unknown-linux-gnu

# In a target directory of its own: other flags would throw away the ordinary build.
RUSTFLAGS="-C target-feature=+crt-static" \
    "${CARGO:-cargo}" build --locked --quiet --bin hashtune --target $target --target-dir $dir/cargo >&2

rm -rf $dir/image
mkdir -p $dir/image/bin $dir/image/proc $dir/image/sys $dir/image/dev $dir/image/tmp
cp $dir/busybox $dir/image/bin/
# Thirty megabytes of symbols would have to be unpacked by the emulator.
strip -o $dir/image/bin/hashtune $dir/cargo/$target/debug/hashtune
cp tests/v2/init $dir/image/init
chmod 755 $dir/image/init
(cd $dir/image && find . | ../busybox cpio -o -H newc 2>/dev/null) >$dir/initramfs.new
mv $dir/initramfs.new $dir/initramfs
rm -rf $dir/image
