#!/usr/bin/env bash
# Runs exported scripts under TensorFlow within the limit of their plan, and the same training as written under the same limit.
# Usage: bench/peers/exported/run.sh    writes bench/records/<date>-exported.md
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${VENV:-target/peers/tensorflow}
[ -x "$venv/bin/python" ] || { python3 -m venv "$venv" && "$venv/bin/pip" install -q tensorflow-cpu==2.21.*; }
cargo build --release -q
plimsoll=target/release/plimsoll
record=bench/records/$(date +%F)-exported.md

# The last words of a run: the loss of its last step, or what it died of.
outcome() { # SCRIPT STEPS
    if STEPS=$2 CUDA_VISIBLE_DEVICES= TF_CPP_MIN_LOG_LEVEL=3 "$venv/bin/python" "$1" >"$work/out" 2>"$work/err"; then
        tail -1 "$work/out"
    elif grep -qE "ResourceExhausted|OOM when allocating" "$work/err"; then
        echo "out of memory after $(grep -c '^step' "$work/out" || true) steps"
    else
        tail -3 "$work/err" >&2
        echo "failed otherwise"
    fi
}

{
    echo "# Exported scripts under TensorFlow, $(date +%F)"
    echo
    echo "\`bench/peers/exported/run.sh\`: TensorFlow $("$venv/bin/python" -c 'import importlib.metadata as m; print(m.version("tensorflow-cpu"))') on the CPU, its BFC allocator limited by"
    echo "\`TF_CPU_BFC_MEM_LIMIT_IN_MB\`. \"As written\" is the script for the same batch with no changes, under the same limit."
    echo
    echo "| model | batch | limit | plan | the plan's script | as written |"
    echo "|---|---|---|---|---|---|"
} >"$record"

while read -r model batch mib allow; do
    options=(--batch "$batch" --as tensorflow ${allow:+--allow "$allow"})
    "$plimsoll" fit "$model" "${options[@]}" --memory "${mib}MiB" -o "$work/plan.json" --json >"$work/fit.json"
    "$plimsoll" export "$work/plan.json" --to tensorflow -o "$work/train.py" 2>/dev/null
    "$plimsoll" fit "$model" "${options[@]}" --memory 1TiB -o "$work/plan.json" >/dev/null
    "$plimsoll" export "$work/plan.json" --to tensorflow -o "$work/written.py" 2>/dev/null
    sed -i "s/^LIMIT_MIB = .*/LIMIT_MIB = $mib/" "$work/written.py"
    changes=$("$venv/bin/python" -c 'import json,sys; print(" + ".join(json.load(open(sys.argv[1]))["found"]["changes"]))' "$work/fit.json")
    parts=$("$venv/bin/python" -c 'import json,sys; print(json.load(open(sys.argv[1]))["found"]["accumulate"])' "$work/fit.json")
    # Two updates and a half: the steady state and the growth of the first steps.
    row="| $model | $batch | $mib MiB | $changes | $(outcome "$work/train.py" $((parts * 2 + 2))) | $(outcome "$work/written.py" 3) |"
    echo "$row" | tee -a "$record"
done <<CASES
resnet50@64 64 600 accumulate
transformer 32 260
mlp@4096 8192 140
cnn 1024 160
CASES
