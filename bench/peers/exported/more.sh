#!/usr/bin/env bash
# Runs the scripts for the models of crates/tensorflow/tests/data/more at 75 and 60 % of the limit that TensorFlow is predicted to need.
# Usage: bench/peers/exported/more.sh [RUNS]    prints a row a script; RUNS times 20 steps each (two epochs of 10 with a
# validation after each, then the file is saved), 5 unless said. PLIMSOLL names a built program, VENV an environment,
# RESULTS a file that gets a line for each run as it ends.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
runs=${1:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${VENV:-target/peers/tensorflow}
[ -x "$venv/bin/python" ] || { python3 -m venv "$venv" && "$venv/bin/pip" install -q tensorflow-cpu==2.21.*; }
python=$(realpath -s "$venv/bin/python")
[ -n "${PLIMSOLL:-}" ] || cargo build --release -q
plimsoll=$(realpath "${PLIMSOLL:-target/release/plimsoll}")
results=$(realpath "${RESULTS:-$work/results.txt}")
models=$(realpath crates/tensorflow/tests/data/more/models)
cd "$work"

# Each script has a folder of its own, beside its model.
while read -r model batch loss; do
    zcat "$models/$model.json.gz" >"$model.json"
    step=("$model.json" --batch "$batch" --loss "$loss" --as tensorflow)
    limit=$("$plimsoll" inspect "${step[@]}" --json 2>/dev/null |
        "$python" -c 'import json, sys; print(json.load(sys.stdin)["smallest_limit_bytes"] >> 20)')
    for share in 75 60; do
        folder=$model.$share
        mkdir "$folder"
        echo "| $model | $batch | $share %, $((limit * share / 100)) MiB" >"$folder/row"
        echo "$folder" >>folders
        if ! "$plimsoll" fit "${step[@]}" --memory "$((limit * share / 100))MiB" --allow accumulate -o plan.json >fit.txt 2>&1; then
            echo "none fits" >"$folder/plan"
            continue
        fi
        grep ' fits$' fit.txt | sed 's/  .*//' >"$folder/plan"
        "$plimsoll" export plan.json --to tensorflow -o "$folder/train.py" >/dev/null 2>"$folder/refusal" || true
    done
done <<CASES
mlp_bn_drop_0 1024 sparse_categorical_crossentropy
siamese_48 64 binary_crossentropy
aspp_64 16 sparse_categorical_crossentropy
gn_cnn_32 32 sparse_categorical_crossentropy
deeplab_small_64 32 sparse_categorical_crossentropy
td_video_32 16 sparse_categorical_crossentropy
gru_stack_50 128 sparse_categorical_crossentropy
lstm_ae_60 32 mean_squared_error
lstm_ae_dense_60 64 mean_squared_error
CASES

# Started from elsewhere: a script finds its model by itself.
for _ in $(seq "$runs"); do
    while read -r folder; do
        [ -e "$folder/train.py" ] || continue
        code=0
        (cd / && EPOCHS=2 STEPS=10 CUDA_VISIBLE_DEVICES= TF_CPP_MIN_LOG_LEVEL=3 "$python" "$work/$folder/train.py") >/dev/null 2>"$folder/errors" </dev/null || code=$?
        echo "$folder $code $(tail -1 "$folder/errors" | cut -c1-200)" >>"$results"
    done <folders
done

echo "| model | batch | of the limit | plan | runs of 20 steps that ended well |"
echo "|---|---|---|---|---|"
while read -r folder; do
    well=$(grep -c "^$folder 0" "$results" || true)
    all=$(grep -c "^$folder " "$results" || true)
    echo "$(cat "$folder/row") | $(cat "$folder/plan") | $([ -e "$folder/train.py" ] && echo "$well of $all" || head -1 "$folder/refusal" 2>/dev/null) |"
done <folders
