#!/usr/bin/env bash
# Benchmarks: `./bench.sh` counts instructions (repeatable on a noisy machine), `./bench.sh --time` measures times too.
set -euo pipefail
cd "$(dirname "$0")"

case "${1:-}" in
    "" | --time) ;;
    *)
        echo "usage: ./bench.sh [--time]"
        echo "  without a flag: instruction counts of small cases (installs valgrind and gungraun-runner where missing)"
        echo "  --time: besides, times by criterion and the table of the sizes the library is built for (some minutes, 3 GB)"
        [[ "$1" == --help ]] && exit 0 || exit 2
        ;;
esac

if ! command -v valgrind >/dev/null; then
    apt-get update -qq && apt-get install -y -qq valgrind
fi
version=$(cargo metadata --format-version 1 --locked | grep -o '"name":"gungraun","version":"[^"]*"' | head -n 1 | cut -d '"' -f 8)
if [[ "$(gungraun-runner --version 2>/dev/null || true)" != *"$version"* ]]; then
    cargo install --locked --version "$version" gungraun-runner
fi
cargo bench -p unloop --locked --bench instructions
if [[ "${1:-}" == --time ]]; then
    cargo bench -p unloop --locked --bench fit --bench record
    cargo bench -p unloop --locked --bench targets
fi
