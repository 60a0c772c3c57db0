#!/bin/sh
# Installs clewline for one user: downloads the archive for this machine, compares its SHA-256 sum
# with the published one, and copies the command, its manual pages and completions.
#
#   sh install.sh [--prefix DIR]
#
# CLEWLINE_DOWNLOADS  where the archive and SHA256SUMS lie: a URL, or a folder of this machine
#                     [default: the latest release]
# CLEWLINE_TARGET     the platform to install for [default: this one]
set -eu

downloads=${CLEWLINE_DOWNLOADS:-https://github.com/clewline/clewline/releases/latest/download}
prefix=${HOME:-}/.local

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
    --prefix)
        [ $# -ge 2 ] || fail "--prefix lacks its folder"
        prefix=$2
        shift 2
        ;;
    *) fail "unknown option $1; the only one is --prefix DIR" ;;
    esac
done

# The binary for glibc needs 2.34; older systems and those without glibc get the static one.
linux_libc() {
    version=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc 2\.\([0-9]*\).*/\1/p')
    if [ "${version:-0}" -ge 34 ]; then echo gnu; else echo musl; fi
}

target() {
    case $(uname -m) in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
    *) fail "there is no archive for the processor $(uname -m); build it with cargo" ;;
    esac
    case $(uname -s) in
    Linux) echo "$processor-unknown-linux-$(linux_libc)" ;;
    Darwin) echo "$processor-apple-darwin" ;;
    *) fail "there is no archive for $(uname -s); build it with cargo" ;;
    esac
}

# fetch NAME FILE
fetch() {
    case $downloads in
    http://* | https://*)
        if command -v curl >/dev/null; then
            curl --fail --silent --show-error --location --output "$2" "$downloads/$1"
        elif command -v wget >/dev/null; then
            wget --quiet --output-document="$2" "$downloads/$1"
        else
            fail "neither curl nor wget is here"
        fi
        ;;
    *) cp "$downloads/$1" "$2" ;;
    esac || fail "could not fetch $downloads/$1"
}

sum() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1"
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1"
    else
        fail "neither sha256sum nor shasum is here"
    fi | cut -d ' ' -f 1
}

# put FILE FOLDER [NAME]
put() {
    mkdir -p "$2"
    cp "$1" "$2/${3:-$(basename "$1")}"
}

target=${CLEWLINE_TARGET:-$(target)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM

fetch SHA256SUMS "$folder/SHA256SUMS"
line=$(grep "  clewline-[0-9].*-$target\.tar\.gz\$" "$folder/SHA256SUMS" | head -n 1) ||
    fail "$downloads has no archive for $target"
[ -n "$line" ] || fail "$downloads has no archive for $target"
archive=${line#*  }
fetch "$archive" "$folder/$archive"
[ "$(sum "$folder/$archive")" = "${line%% *}" ] ||
    fail "the SHA-256 sum of $archive is wrong; nothing was installed"

tar -xzf "$folder/$archive" -C "$folder"
from=$folder/${archive%.tar.gz}
mkdir -p "$prefix/bin"
# A command that runs keeps its file; the new one takes the name.
cp "$from/clewline" "$prefix/bin/.clewline.new"
chmod 755 "$prefix/bin/.clewline.new"
mv -f "$prefix/bin/.clewline.new" "$prefix/bin/clewline"
for page in "$from"/man/man1/*.1; do
    put "$page" "$prefix/share/man/man1"
done
put "$from/completions/clewline.bash" "$prefix/share/bash-completion/completions" clewline
put "$from/completions/clewline.fish" "$prefix/share/fish/vendor_completions.d"
put "$from/completions/_clewline" "$prefix/share/zsh/site-functions"
for paper in LICENSE-APACHE LICENSE-MIT THIRD-PARTY-LICENSES.txt; do
    put "$from/$paper" "$prefix/share/doc/clewline"
done

echo "installed $("$prefix/bin/clewline" -V) in $prefix/bin"
case :${PATH:-}: in
*:"$prefix/bin":*) ;;
*) echo "add $prefix/bin to PATH" ;;
esac
