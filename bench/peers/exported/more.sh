#!/usr/bin/env bash
# Runs the scripts for the models of crates/tensorflow/tests/data/more at 75 and 60 % of the limit that TensorFlow is predicted to need.
# Usage: bench/peers/exported/more.sh [RUNS]    prints a row a script; RUNS times 20 steps each, 5 unless said
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
runs=${1:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${VENV:-target/peers/tensorflow}
[ -x "$venv/bin/python" ] || { python3 -m venv "$venv" && "$venv/bin/pip" install -q tensorflow-cpu==2.21.*; }
python=$(realpath -s "$venv/bin/python")
cargo build --release -q
plimsoll=$(realpath target/release/plimsoll)
models=$(realpath crates/tensorflow/tests/data/more/models)
cd "$work"

echo "| model | batch | of the limit | plan | runs of 20 steps that ended well |"
echo "|---|---|---|---|---|"
while read -r model batch loss; do
    zcat "$models/$model.json.gz" >"$model.json"
    step=("$model.json" --batch "$batch" --loss "$loss" --as tensorflow)
    limit=$("$plimsoll" inspect "${step[@]}" --json 2>/dev/null |
        "$python" -c 'import json, sys; print(json.load(sys.stdin)["smallest_limit_bytes"] >> 20)')
    for share in 75 60; do
        row="| $model | $batch | $share %, $((limit * share / 100)) MiB"
        if ! "$plimsoll" fit "${step[@]}" --memory "$((limit * share / 100))MiB" --allow accumulate -o plan.json >fit.txt 2>&1; then
            echo "$row | none fits | |"
            continue
        fi
        row="$row | $(grep ' fits$' fit.txt | sed 's/  .*//')"
        if ! "$plimsoll" export plan.json --to tensorflow -o train.py 2>refusal.txt; then
            echo "$row | $(head -1 refusal.txt) |"
            continue
        fi
        well=0
        for _ in $(seq "$runs"); do
            STEPS=20 CUDA_VISIBLE_DEVICES= TF_CPP_MIN_LOG_LEVEL=3 "$python" train.py >/dev/null 2>&1 && well=$((well + 1))
        done
        echo "$row | $well of $runs |"
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
