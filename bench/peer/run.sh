#!/bin/sh
# Runs the same updates here and in PyTorch, in turn, and prints how many times
# faster ours are. The best of ROUNDS counts on both sides: whatever else the
# machine does only slows one down.
#
#   PYTHON=/usr/bin/python3 ROUNDS=3 bench/peer/run.sh
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
ROUNDS=${ROUNDS:-3}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! "$PYTHON" -c 'import torch' 2>"$work/import"; then
	echo "$PYTHON cannot import torch, so there is nothing to compare with:" >&2
	tail -n 1 "$work/import" >&2
	echo "On Debian: apt-get install python3-torch. Or name a Python that has it: PYTHON=... $0" >&2
	exit 1
fi

cd "$here/../.."
go test -c -o "$work/ours" ./internal/nn
for round in $(seq "$ROUNDS"); do
	echo "round $round of $ROUNDS" >&2
	(cd internal/nn && "$work/ours" -test.run '^$' -test.cpu 1 -test.bench '^Benchmark(DQNUpdate|TD3Update|GRUUpdate|Inference)$') |
		awk '/^Benchmark/ { sub(/^Benchmark/, "", $1); print $1 "\t" 1e9/$3 }' >>"$work/ours.tsv"
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$PYTHON" "$here/torch_updates.py" >>"$work/theirs.tsv"
done

grep '^#' "$work/theirs.tsv" | head -n 1
awk -F '\t' '
	/^#/ { next }
	FILENAME == ARGV[1] { if ($2 > ours[$1]) ours[$1] = $2; next }
	{ if (!($1 in theirs)) order[++n] = $1; if ($2 > theirs[$1]) theirs[$1] = $2 }
	END {
		printf "%-26s %14s %14s %8s\n", "UPDATE", "OURS PER S", "TORCH PER S", "RATIO"
		for (i = 1; i <= n; i++) {
			k = order[i]
			printf "%-26s %14.0f %14.0f %7.1fx\n", k, ours[k], theirs[k], ours[k] / theirs[k]
		}
	}' "$work/ours.tsv" "$work/theirs.tsv"
