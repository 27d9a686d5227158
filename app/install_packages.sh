#!/usr/bin/env bash
# Installs the Debian packages that building (argument: build), the desktop (desktop), testing (test), fuzzing (fuzz), packing (packages) or
# continuous integration (ci) needs and that are not there yet.
# Needs root only if something is missing. docs/dependencies.md gives the reason for each.
set -euo pipefail
packages=(g++ cmake ninja-build pkg-config ccache mold libfmt-dev libxxhash-dev libzip-dev libpng-dev libjpeg62-turbo-dev flatbuffers-compiler
          libflatbuffers-dev protobuf-compiler libprotobuf-dev libsqlite3-dev libzstd-dev nlohmann-json3-dev libcli11-dev libedit-dev
          libgraphviz-dev libre2-dev libvulkan-dev libvulkan-volk-dev glslang-tools)
case "${1:-build}" in
    test) packages+=(qt6-base-dev qt6-svg-dev fonts-dejavu-core libgtest-dev libgmock-dev mesa-vulkan-drivers spirv-tools
                      vulkan-validationlayers libopenmpi-dev openmpi-bin python3-dev pybind11-dev) ;;
    ci) packages=(clang-format-14 clang-tidy-14) ;;
    fuzz) packages+=(libgtest-dev libgmock-dev clang-14 libclang-rt-14-dev) ;;
    desktop) packages+=(qt6-base-dev qt6-svg-dev fonts-dejavu-core) ;;
    packages) packages+=(qt6-base-dev qt6-svg-dev fonts-dejavu-core libopenmpi-dev python3-dev pybind11-dev dpkg-dev) ;;
esac
missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$status" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "installing: ${missing[*]}" >&2
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "error: packages are missing and this is not root; install: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq >&2
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
