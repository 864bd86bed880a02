#!/usr/bin/env bash
# Feeds the decoders anything; see --help.
set -euo pipefail

usage() {
  cat <<'EOF'
Usage: ./fuzz.sh [SECONDS]

Runs each fuzz target, snapshot, import and token, for so many seconds (60 by default) after it is built: bytes that are changed at random, guided
by the code they reach. It begins with fuzz/corpus and what earlier runs found, which is kept in fuzz/grown.

Needs a nightly toolchain (rustup toolchain install nightly); a missing cargo-fuzz is installed with cargo. Where there is no nightly
toolchain, or cargo-fuzz cannot be installed, it says so and skips everything: `cargo test -p unloop-store -p unloop-server --test corpus` runs
the same checks over fuzz/corpus with any toolchain.

An input that crashes a target, takes 10 seconds or asks for 256 MB at once stays in fuzz/artifacts. Mend the cause, and keep the input in fuzz/corpus.

The last line is `N passed, N failed, N skipped`. The exit code is 0 if nothing failed, 1 if something did, 2 if it could not run.
EOF
}

case "${1-}" in
  -h | --help)
    usage
    exit 0
    ;;
esac
seconds=${1-60}
if [ "$#" -gt 1 ] || ! [[ $seconds =~ ^[1-9][0-9]{0,6}$ ]]; then
  printf 'error: unknown argument %s\n\n' "${*: -1}" >&2
  usage >&2
  exit 2
fi

cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

targets=(snapshot import token)
passed=0
failed=0
skipped=0

main() {
  local target missing
  find_cargo
  if missing=$(prepare); then
    for target in "${targets[@]}"; do
      fuzz "$target"
    done
  else
    for target in "${targets[@]}"; do
      printf 'SKIPPED %s: %s\n' "$target" "$missing"
      skipped=$((skipped + 1))
    done
  fi

  heading "Result"
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
}

heading() {
  printf '\n== %s ==\n' "$1"
}

# fuzz <target>: builds it, and runs it for as long as was asked for.
fuzz() {
  heading "$1"
  mkdir -p "fuzz/grown/$1"
  # New inputs go to the first folder; the corpus is what people chose to keep.
  if cargo +nightly fuzz build "$1" 2>&1 &&
    cargo +nightly fuzz run "$1" "fuzz/grown/$1" "fuzz/corpus/$1" -- \
      -max_total_time="$seconds" -timeout=10 -malloc_limit_mb=256 -print_final_stats=1 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

find_cargo() {
  if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
    PATH="$HOME/.cargo/bin:$PATH"
  fi
  if ! command -v cargo >/dev/null; then
    printf 'error: cargo not found\nhint: install Rust from https://rustup.rs\n' >&2
    exit 2
  fi
}

# Prints what is missing, and fails, if something is that cannot be installed.
prepare() {
  # Only rustup knows `+nightly`.
  if ! cargo +nightly --version >/dev/null 2>&1; then
    printf 'there is no nightly toolchain (rustup toolchain install nightly)\n'
    return 1
  fi
  if ! cargo fuzz --version >/dev/null 2>&1 && ! cargo install cargo-fuzz --locked >&2; then
    printf 'cargo-fuzz could not be installed (cargo install cargo-fuzz --locked)\n'
    return 1
  fi
}

main
