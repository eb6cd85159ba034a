#!/bin/bash
# Rebuilds ptx/clang/ with clang 19 (Debian: apt-get install clang-19). Needs no CUDA.
set -euo pipefail
cd "$(dirname "$0")"
clang=${CLANG-clang-19}
if ! "$clang" --version 2>/dev/null | grep -q 'version 19'; then
    echo "build_clang.sh: $clang is not clang 19; name one with CLANG=" >&2
    exit 2
fi
mkdir -p ptx/clang
for source in clang/*.cu; do
    name=$(basename "$source" .cu)
    # Debug information of one, in a folder that is the same everywhere.
    levels="0 2" debug=
    if [ "$name" = members ]; then
        levels=0 debug="-g -fdebug-compilation-dir=."
    fi
    for level in $levels; do
        # shellcheck disable=SC2086 # the options are words
        "$clang" -x cuda --cuda-device-only --cuda-gpu-arch=sm_90 -nocudainc -nocudalib --cuda-feature=+ptx80 \
            $debug -O$level -S -o "ptx/clang/$name-O$level.ptx" "$source"
    done
done
if [ -n "${CUDA_HOME-}" ]; then
    for file in ptx/clang/*.ptx; do
        "$CUDA_HOME/bin/ptxas" -arch=sm_90 -o /tmp/warpgrind-clang.cubin "$file"
    done
fi
