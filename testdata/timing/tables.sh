#!/bin/sh
# Prints all tables of PROFILE.md: the public programs with NVIDIA's tools and without, and the launches of testdata.
#
#     tables.sh PROGRAMS PAGES ANSWERS [WARPGRIND]
#
# PROGRAMS and PAGES are the folders of compare.py; answers are kept below ANSWERS, so that what was begun can be gone on with. A
# program has TIMEOUT seconds (60).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
programs=$1 pages=$2 answers=$3 warpgrind=${4:-warpgrind}
lists="$here/public.txt $here/unseen.txt $here/later.txt $here/latest.txt"
compare() {
    # shellcheck disable=SC2086 # The lists are several words.
    python3 "$here/compare.py" $lists --programs "$programs" --pages "$pages" --warpgrind "$warpgrind" --timeout "${TIMEOUT:-60}" "$@"
}
echo "# With NVIDIA's tools"
compare --keep "$answers/with"
echo "# Without"
compare --keep "$answers/without" --without-tools
echo "# Launches of testdata"
cd "$here/../.."
cargo test -p warpgrind --test timing -- --nocapture --include-ignored --test-threads 1 launches
cargo test -p warpgrind --test timing -- --nocapture --ignored without_one_part
