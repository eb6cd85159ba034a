#!/bin/bash
# Rebuilds the checked-in PTX from the CUDA sources here, with nvcc 13.0 from PyPI.
#
#   ./build.sh            rebuild everything into ptx/
#   ./build.sh --check    rebuild into a scratch folder and compare; exit 1 on a difference
#
# Needs Linux on x86-64, python3 with pip, and a host g++ that nvcc uses as its
# preprocessor. No GPU and no CUDA installation. With CUDA_HOME set to an nvcc
# 13.0.88 tree, nothing is fetched.
#
# The sources are compiled in one fixed folder, so that the paths that nvcc
# writes into .file directives and debug sections are the same everywhere; in
# .file directives they are then made relative to this folder.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
scratch=/tmp/warpgrind-testdata
check=0
case "${1-}" in
'') ;;
--check) check=1 ;;
*) echo "usage: $0 [--check]" >&2; exit 2 ;;
esac

pins="nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88
      nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85"

mkdir -p "$scratch"
if [ -z "${CUDA_HOME-}" ]; then
    if ! python3 -m venv --help >/dev/null 2>&1; then
        echo "build.sh: python3 with venv and pip is needed to fetch nvcc 13.0 (or set CUDA_HOME)" >&2
        exit 2
    fi
    venv="$scratch/venv"
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    # shellcheck disable=SC2086 # the pins are words
    if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check $pins; then
        echo "build.sh: pip could not install: $(echo $pins)" >&2
        echo "build.sh: the checked-in PTX is untouched; set CUDA_HOME to an nvcc 13.0.88 tree to build without pip" >&2
        exit 2
    fi
    CUDA_HOME=$(echo "$venv"/lib/python3*/site-packages/nvidia/cu13)
fi
nvcc="$CUDA_HOME/bin/nvcc"
ptxas="$CUDA_HOME/bin/ptxas"
case "$("$nvcc" --version)" in
*V13.0.88*) ;;
*) echo "build.sh: $nvcc is not nvcc 13.0.88" >&2; exit 2 ;;
esac

out="$here/ptx"
[ $check = 0 ] || { out="$scratch/ptx"; rm -rf "$out"; }
rm -rf "$scratch/src"
mkdir -p "$scratch/src"
cp -R "$here/kernels" "$here/perf" "$here/rates" "$here/racecheck" "$here/debugger" \
    "$scratch/src/"
cd "$scratch/src"

# compile FLAVOUR ARCH SOURCE [nvcc options]
compile() {
    local flavour=$1 arch=$2 source=$3 name whole=
    shift 3
    # A unit that calls others is not a whole program.
    case " $* " in *" -rdc=true "*) whole=-c ;; esac
    name=$(basename "$source" .cu)
    mkdir -p "$out/$flavour"
    "$nvcc" -ptx -arch="$arch" -std=c++17 -Wno-deprecated-gpu-targets "$@" -o "$out/$flavour/$name.ptx" "$source"
    sed -i -E \
        -e '/^[[:space:]]*\.file/s#"'"$scratch"'/src/#"#' \
        -e '/^[[:space:]]*\.file/s,"[^"]*/cu13/(bin/\.\.//)?,"cuda/,' \
        "$out/$flavour/$name.ptx"
    "$ptxas" $whole -arch="$arch" -o "$scratch/out.cubin" "$out/$flavour/$name.ptx"
}

for source in kernels/*.cu; do
    compile sm_90 sm_90 "$source"
    compile sm_90-lineinfo sm_90 "$source" -lineinfo
done
for name in $(cat kernels/sm_75.list); do
    compile sm_75 sm_75 "kernels/$name.cu"
done
for name in $(cat kernels/debug.list); do
    compile sm_90-debug sm_90 "kernels/$name.cu" -G
done
for source in kernels/later/*.cu; do
    [ -e "$source" ] || continue
    compile later sm_90a "$source"
done
for source in perf/*.cu; do
    compile perf sm_90 "$source"
done
for source in rates/*.cu; do
    compile rates sm_90 "$source"
done
for source in racecheck/*.cu; do
    case "$source" in
    # Kernels that launch call the device runtime.
    racecheck/launches.cu) compile racecheck sm_90 "$source" -lineinfo -rdc=true ;;
    # Kernels that change maps are for this chip alone.
    racecheck/tensor_map.cu) compile racecheck sm_90a "$source" -lineinfo ;;
    *) compile racecheck sm_90 "$source" -lineinfo ;;
    esac
done
for source in debugger/*.cu; do
    compile debugger sm_90 "$source" -lineinfo
    compile debugger-debug sm_90 "$source" -G
done

if grep -rl "$scratch" "$out" --include='*.ptx'; then
    echo "build.sh: the files above hold paths of this machine" >&2
    exit 1
fi
if [ $check = 1 ]; then
    status=0
    for dir in "$out"/*; do
        diff -r -q "$dir" "$here/ptx/$(basename "$dir")" || status=1
    done
    exit $status
fi
