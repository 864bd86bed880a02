#!/usr/bin/env bash
# Runs every check of the repository; see --help.
set -euo pipefail

usage() {
  cat <<'EOF'
Usage: ./test.sh

Checks format, lints and documentation, then runs all tests: the library without default features, then the whole
workspace with all features, doc tests included. At last ./openapi.sh sends the server what its OpenAPI document allows and
forbids, and ./browser.sh uses the dashboard in Chromium. Every step runs, even after another one failed.

Needs Rust (cargo). A missing rustfmt or clippy is installed with rustup; a missing linker, curl, jq, Python with venv, Node.js with npm,
Chromium or, without rustup, rustfmt or clippy with apt-get. What ./openapi.sh needs of Python and ./browser.sh of npm goes into folders
under target; where it cannot be installed, that step is counted as skipped, or with CI=true as failed.

Tests that compare with reference values look for them in a folder `shared` beside the repository, or where UNLOOP_SHARED
says, and are counted as skipped where there is none.

The last line is `N passed, N failed, N skipped`. A step that fails without a failed test, such as the format check, counts
as one failed. The exit code is 0 if nothing failed, 1 if something did, 2 if the checks could not run.
EOF
}

case "${1-}" in
  "") ;;
  -h | --help)
    usage
    exit 0
    ;;
  *)
    printf 'error: unknown argument %s\n\n' "$1" >&2
    usage >&2
    exit 2
    ;;
esac

cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

passed=0
failed=0
skipped=0

# Colour codes would hide the lines that are counted below.
export CARGO_TERM_COLOR=never
output=$(mktemp)
trap 'rm -f -- "$output"' EXIT

main() {
  install_missing

  step "Format" cargo fmt --all --check
  # By the profile of the tests: what build scripts compile, SQLite above all, is then compiled once.
  step "Lints" cargo clippy --profile test --workspace --all-targets --all-features --locked -- -D warnings
  step "Documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --profile test --workspace --no-deps --all-features --locked
  tests "Tests of the library without default features" \
    cargo test -p unloop --lib --no-default-features --locked --no-fail-fast
  tests "All tests" \
    cargo test --workspace --all-features --locked --no-fail-fast
  script "What the OpenAPI document says" openapi
  script "The dashboard in a browser" ./browser.sh "${CARGO_TARGET_DIR:-target}/debug/unloop"

  heading "Result"
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
}

heading() {
  printf '\n== %s ==\n' "$1"
}

# step <heading> <command...>: runs the command; a failure counts as one.
step() {
  heading "$1"
  shift
  if ! "$@" 2>&1; then
    failed=$((failed + 1))
  fi
}

# tests <heading> <command...>: runs a `cargo test` and adds up what it reports.
tests() {
  local status=0 run_passed run_failed run_skipped
  heading "$1"
  shift
  "$@" 2>&1 | tee -- "$output" || status=$?
  read -r run_passed run_failed run_skipped < <(count "$output")
  # It did not compile, or a test binary died before it could report.
  if [ "$status" -ne 0 ] && [ "$run_failed" -eq 0 ]; then
    run_failed=1
  fi
  passed=$((passed + run_passed))
  failed=$((failed + run_failed))
  skipped=$((skipped + run_skipped))
}

# script <heading> <command...>: runs what ends with `N passed, N failed, N skipped`, and adds that up.
script() {
  local status=0 last=()
  heading "$1"
  shift
  "$@" 2>&1 | tee -- "$output" || status=$?
  if [[ $(tail -n 1 -- "$output") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
    last=("${BASH_REMATCH[@]:1}")
  else
    last=(0 0 0)
  fi
  # It could not run, or died before it could report.
  if [ "$status" -ne 0 ] && [ "${last[1]}" -eq 0 ]; then
    last[1]=1
  fi
  passed=$((passed + last[0]))
  failed=$((failed + last[1]))
  skipped=$((skipped + last[2]))
}

# With the program that the tests have just built: to build it by itself would compile every dependency once more.
openapi() {
  ./openapi.sh "${CARGO_TARGET_DIR:-target}/debug/unloop"
}

# count <file>: passed, failed and skipped tests in the output of a `cargo test`.
#
# A test that skips itself prints `SKIPPED <name>: <reason>`, once for each reason, and is reported as passed. Where tests run
# one at a time, the line follows the name on which the runner is still waiting. A test that skipped a part and failed has failed.
count() {
  awk '
    match($0, /^(test .* \.\.\. )?SKIPPED [^ ]+: /) {
      name = substr($0, RSTART, RLENGTH)
      sub(/^.*SKIPPED /, "", name)
      sub(/: $/, "", name)
      names[name] = 1
    }
    /^failures:$/ { listing = 1 }
    listing && /^    [^ ]+$/ { broken[$1] = 1 }
    /^test result: / {
      for (i = 2; i <= NF; i++) {
        if ($i ~ /^passed;?$/) passed += $(i - 1)
        if ($i ~ /^failed;?$/) failed += $(i - 1)
        if ($i ~ /^ignored;?$/) skipped += $(i - 1)
      }
      for (name in names) if (!(name in broken)) { passed--; skipped++ }
      split("", names)
      split("", broken)
      listing = 0
    }
    END { print passed + 0, failed + 0, skipped + 0 }
  ' "$1"
}

install_missing() {
  if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
    PATH="$HOME/.cargo/bin:$PATH"
  fi
  if ! command -v cargo >/dev/null; then
    printf 'error: cargo not found\nhint: install Rust from https://rustup.rs\n' >&2
    exit 2
  fi
  command -v cc >/dev/null || apt_install gcc libc6-dev
  python3 -c 'import venv, ensurepip' >/dev/null 2>&1 || apt_install python3 python3-venv
  # The examples of docs/http.md.
  { command -v curl && command -v jq; } >/dev/null || apt_install curl jq
  # The dashboard.
  { command -v node && command -v npm; } >/dev/null || apt_install nodejs npm
  [ -n "${UNLOOP_CHROMIUM-}" ] || command -v chromium >/dev/null || apt_install chromium fonts-dejavu-core
  cargo fmt --version >/dev/null 2>&1 || install_component rustfmt rustfmt
  cargo clippy --version >/dev/null 2>&1 || install_component clippy rust-clippy
}

# install_component <rustup component> <Debian package>; if it cannot, the step that needs it fails and says so.
install_component() {
  if command -v rustup >/dev/null; then
    rustup component add "$1" >&2 || printf 'warning: could not install %s\n' "$1" >&2
  else
    apt_install "$2"
  fi
}

# apt_install <Debian package...>: as above.
apt_install() {
  local as_root=()
  if ! command -v apt-get >/dev/null; then
    printf 'warning: please install %s\n' "$*" >&2
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo)
  fi
  {
    "${as_root[@]}" apt-get update &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
  } >&2 || printf 'warning: could not install %s\n' "$*" >&2
}

main
