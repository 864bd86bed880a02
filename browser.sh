#!/usr/bin/env bash
# The dashboard in a real browser; see --help.
set -euo pipefail

usage() {
  cat <<'EOT'
Usage: ./browser.sh [BINARY]
       ./browser.sh --screenshots FOLDER [BINARY]

Starts `unloop serve` on new databases and uses its dashboard in Chromium as people do: makes a catalog, chooses, watches it move, withdraws, erases, signs
in, with the keyboard alone, without scripts, on 320 pixels, in light and dark. No page logs an error, sends a request elsewhere, or has a serious fault of
accessibility (axe-core). Takes about a minute.

With --screenshots it makes pictures of every page with real data (data/llm_battles_crowd.csv and climate_icons.csv of the folder `shared` beside the
repository, or where UNLOOP_SHARED says) instead, and dashboard.png, which the README shows.

BINARY is a built `unloop`; without one it is built with cargo.

Needs Node.js 18 or newer with npm, and Chromium (Debian's, or what UNLOOP_CHROMIUM names). What it needs of npm goes into target/browser, once. Where
something is missing, everything is skipped and it says so; with CI=true that is one failed.

The last line is `N passed, N failed, N skipped`. The exit code is 0 if nothing failed, 1 if something did, 2 if it could not run.
EOT
}

screenshots=
case "${1-}" in
  -h | --help)
    usage
    exit 0
    ;;
  --screenshots)
    if [ -z "${2-}" ]; then
      printf 'error: --screenshots needs a folder\n' >&2
      exit 2
    fi
    mkdir -p -- "$2"
    screenshots=$(realpath -- "$2")
    shift 2
    ;;
  -*)
    printf 'error: unknown argument %s\n\n' "$1" >&2
    usage >&2
    exit 2
    ;;
esac
binary=${1-}
if [ -n "$binary" ]; then
  binary=$(realpath -- "$binary")
fi

cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
readonly SOURCE=$PWD/crates/unloop-server/tests/browser
# Seconds in which all of it has to be done.
readonly LIMIT=600

main() {
  local missing
  if ! missing=$(install); then
    printf '%s\n' "$missing"
    if [ -n "$screenshots" ]; then
      exit 2
    elif [ "${CI-}" = true ]; then
      printf '\n0 passed, 1 failed, 0 skipped\n'
      exit 1
    fi
    printf 'SKIPPED browser: %s\n\n0 passed, 0 failed, 1 skipped\n' "$missing"
    exit 0
  fi
  find_binary
  export UNLOOP_BINARY=$binary
  if [ -n "$screenshots" ]; then
    UNLOOP_SHARED=${UNLOOP_SHARED:-$PWD/../shared} UNLOOP_SCREENSHOTS=$screenshots \
      timeout "$LIMIT" node "$place/screenshots.mjs"
    return
  fi
  local status=0 output
  output=$(mktemp)
  timeout "$LIMIT" node --test --test-reporter=tap "$place/dashboard.test.mjs" >"$output" 2>&1 || status=$?
  grep -vE '^ *(---|\.\.\.|duration_ms:|type:|TAP version|#|1\.\.)' "$output" | cut -c1-600 || true
  local passed failed skipped
  count() { sed -n "s/^# $1 \([0-9]*\)$/\1/p" "$output" | tail -n 1; }
  passed=$(count pass) failed=$(count fail) skipped=$(count skipped)
  rm -f -- "$output"
  # It died before it could report.
  if [ "$status" -ne 0 ] && [ "${failed:-0}" -eq 0 ]; then
    failed=1
  fi
  printf '\n%d passed, %d failed, %d skipped\n' "${passed:-0}" "${failed:-0}" "${skipped:-0}"
  [ "${failed:-0}" -eq 0 ]
}

find_binary() {
  if [ -n "$binary" ]; then
    return
  fi
  cargo build -p unloop-cli --locked
  binary=$(realpath -- "${CARGO_TARGET_DIR:-target}/debug/unloop")
}

# Prints what is missing, and fails, if something is that cannot be installed.
install() {
  if ! { command -v node && command -v npm; } >/dev/null || [ "$(node -p 'parseInt(process.versions.node)')" -lt 18 ]; then
    printf 'there is no Node.js 18 or newer with npm (apt-get install nodejs npm)\n'
    return 1
  fi
  if [ -z "${UNLOOP_CHROMIUM-}" ] && ! command -v chromium >/dev/null; then
    printf 'there is no Chromium (apt-get install chromium)\n'
    return 1
  fi
  # The tests lie beside what they import.
  mkdir -p -- "$place"
  cp -- "$SOURCE"/*.mjs "$place"
  if ! cmp -s -- "$SOURCE/package-lock.json" "$place/package-lock.json" || [ ! -d "$place/node_modules" ]; then
    cp -- "$SOURCE/package.json" "$place"
    if ! (cd -- "$place" && cp -- "$SOURCE/package-lock.json" . && timeout 600 npm ci --no-audit --no-fund) >&2; then
      rm -rf -- "$place/node_modules" "$place/package-lock.json"
      printf 'playwright-core and axe-core could not be installed (npm ci)\n'
      return 1
    fi
  fi
}

mkdir -p -- "${CARGO_TARGET_DIR:-target}"
place=$(realpath -- "${CARGO_TARGET_DIR:-target}")/browser

main
