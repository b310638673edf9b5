#!/bin/sh
# Install the .deb in a fresh Debian that has neither Python nor Tesseract, use it there as a user without network, and
# remove it. Needs root, debootstrap and iproute2; leaves nothing behind.
#
#     sh packaging/try_deb.sh dist/sheepop-studio_*.deb [SUITE]
#     MIRROR=URL COMPONENTS=main,universe sh packaging/try_deb.sh dist/*.deb jammy
#
# MIRROR: by default the one that this system takes its own release from.
set -eu

deb=$(realpath "$1")
own=$(. /etc/os-release && echo "$VERSION_CODENAME")
suite=${2:-$own}
# apt reads both formats of its sources; debootstrap needs a URL that is no list of mirrors
mirror=${MIRROR:-$(apt-get indextargets --no-release-info --format '$(REPO_URI)' 'Created-By: Packages' "Release: $own" |
    grep -m 1 -E '^(https?|file):' || true)}
[ -n "$mirror" ] || {
    echo "No mirror was found in this system's sources. Name one: MIRROR=URL sh $0 $*" >&2
    exit 1
}
work=$(mktemp -d)
root=$work/root
home="/home/Zoë Müller"
trap 'rm -rf --one-file-system "$work"' EXIT

say() { echo "== $*"; }

in_root() {
    chroot "$root" env DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# As a user, in a network of its own with nothing but itself.
as_user() {
    unshare --net --mount --pid --fork --mount-proc="$root/proc" sh -eu -c '
        root=$1 home=$2
        shift 2
        ip link set lo up
        mount -t tmpfs tmpfs "$root/dev/shm"
        # not in the place of this shell: Xvfb waits for ever for a parent that is the first process
        chroot --userspec=zoe:zoe "$root" env -i PATH=/usr/bin:/bin LANG=C.UTF-8 HOME="$home" "$@" || exit
    ' sh "$root" "$home" "$@"
}

say "$suite"
mkdir "$root"
debootstrap --variant=minbase --components="${COMPONENTS:-main}" "$suite" "$root" \
    "${mirror%/}" >"$work/log" 2>&1 || {
    tail "$work/log"
    exit 1
}
if in_root sh -c 'command -v python3 || command -v tesseract'; then
    say "This Debian has what the package must not need."
    exit 1
fi
in_root useradd --create-home --home-dir "$home" zoe

say "Installing"
cp "$deb" "$root/tmp/program.deb"
in_root apt-get install -q -y --no-install-recommends /tmp/program.deb >"$work/log" 2>&1 || {
    tail "$work/log"
    exit 1
}
in_root dpkg --verify sheepop-studio
rm "$root/tmp/program.deb"

say "Offscreen"
as_user sheepop selftest

say "Under Xvfb"
in_root apt-get install -q -y --no-install-recommends xvfb xauth >"$work/log" 2>&1
as_user xvfb-run -a sheepop selftest

say "Removing"
as_user sheepop sample
in_root apt-get purge -q -y sheepop-studio >"$work/log" 2>&1
left=$(find "$root" -xdev \( -path "$root/home" -o -path "$root/proc" \) -prune -o -iname '*sheepop*' -print)
if [ -n "$left" ] || [ -e "$root/opt/sheepop-studio" ]; then
    say "Left behind: $left"
    exit 1
fi
[ -f "$root$home/.local/share/SheepOp Studio/library.sqlite" ] || {
    say "The workspace is gone."
    exit 1
}
say "Nothing but the workspace is left."
