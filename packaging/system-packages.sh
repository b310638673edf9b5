#!/bin/sh
# Install what Qt and OCR need from Debian's or Ubuntu's packages, and what else is named, or say which line would.
set -eu

wanted="tesseract-ocr tesseract-ocr-eng python3-venv
    libegl1 libgl1 libglib2.0-0 libdbus-1-3 libfontconfig1 libxkbcommon0 libxkbcommon-x11-0 libxcb-cursor0
    libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0
    libxcb-xinerama0 libxcb-xkb1 fonts-dejavu-core $*"

command -v apt-get >/dev/null 2>&1 || {
    command -v tesseract >/dev/null 2>&1 || echo "Tesseract is not installed: scanned pages cannot be read." >&2
    exit 0
}

missing=""
for package in $wanted; do
    # Ubuntu's newer libglib2.0-0t64 and its like provide the old name
    dpkg-query -W -f='${Status} ${Package} ${Provides}\n' "$package*" 2>/dev/null |
        grep '^install ok installed' | grep -qE " ${package}(t64)?( |,|$)" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo"
else
    echo "Some system packages are missing. Type this line, then go on:" >&2
    echo "    sudo apt-get update && sudo apt-get install -y$missing" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086  # the names are words
$as_root apt-get update -q && $as_root apt-get install -q -y --no-install-recommends $missing || {
    echo "The system packages could not be installed; going on without:$missing" >&2
}
