#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: quick
# check_fit.sh PREDICT: analysis/fit/fit.py prints the rows of constants as they stand; the pages say what choices by them cost; and timed
# trials of `tilejit tune --trials` enter a table, whose times analysis_predict_trials (PREDICT) predicts.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fit() { python3 analysis/fit/fit.py "$@"; }
fit rows | cmp - generator/families/model_rows.c
fit --tool "$1" regret >"$folder/regret"
[ "$(grep -c '^| `' "$folder/regret")" -gt 20 ]
grep '^| `' "$folder/regret" | while read -r row; do
    grep -qxF "$row" docs/analysis.md analysis/fit/README.md ||
        { echo "check_fit: neither docs/analysis.md nor analysis/fit/README.md has $row" >&2; exit 1; }
done
tab() { printf '%s\t' "$@" | sed 's/\t$/\n/'; }
{
    tab '# shape' config state us spread predicted_us compile_ms registers shared_bytes device problem
    tab 64x64x64 tiled:tile_width=16 timed 5.25 0.01 5 9 32 2048 'NVIDIA H200' 'j64 k64 l64 bf16 N:col batch=3'
    tab 64x64x64 naive:tile_width=8 refused 0 0 5 9 32 2048 'NVIDIA H200' 'j64 k64 l64 bf16 N:col batch=3'
    tab 64x64x64 naive:tile_width=16 slow 7.5 0.01 5 9 32 2048 'NVIDIA H200' 'j64 k64 l64 bf16 N:col batch=3'
} >"$folder/new.tsv"
printf '# set\tdevice\tproblem\tconfig\tus\n' | gzip >"$folder/table.gz"
fit --table "$folder/table.gz" add "$folder/new.tsv" --set new
{
    printf '# set\tdevice\tproblem\tconfig\tus\n'
    tab new 'NVIDIA H200' 'j64 k64 l64 bf16 N:col batch=3' tiled:tile_width=16 5.25
    tab new 'NVIDIA H200' 'j64 k64 l64 bf16 N:col batch=3' naive:tile_width=16 7.5
} | cmp - <(gzip -dc "$folder/table.gz")
"$1" "$folder/table.gz" </dev/null | grep -c '^trial textbook [1-9]' | grep -qx 2
if fit --table "$folder/table.gz" add "$folder/new.tsv" --set new 2>/dev/null; then
    echo "check_fit: a second set of one name was taken" >&2
    exit 1
fi
echo "check_fit: no complaint"
