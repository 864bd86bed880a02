#!/usr/bin/env bash
# Sends the server whatever its OpenAPI document allows and forbids; see --help.
set -euo pipefail

usage() {
  cat <<'EOT'
Usage: ./openapi.sh [BINARY]

Starts `unloop serve` on a new database and lets schemathesis send what the OpenAPI document allows, what it forbids, and calls that follow from each
other, to every path, always with the same seed. No answer is a server error; each has the status, media type, headers and shape that the document
says; what the document forbids is refused. Afterwards the server is ready, has logged no error, ends in good order, and its database is sound.

Takes one to two minutes. BINARY is a built `unloop`; without one it is built with cargo.

Needs Python 3.10 or newer with venv. schemathesis is installed with pip into target/schemathesis, once. Where that cannot be, everything is skipped
and it says so; with CI=true that is one failed.

UNLOOP_OPENAPI, for trying out what is found: a file that is taken for the document instead of the server's own.

The last line is `N passed, N failed, N skipped`. The exit code is 0 if nothing failed, 1 if something did, 2 if it could not run.
EOT
}

# Answers may change with every version: what passes here passes everywhere.
readonly VERSION=4.32.5
readonly SEED=1
# Of each call, besides those that the document's limits and examples give.
readonly EXAMPLES=60
# Seconds in which all of them have to be answered.
readonly LIMIT=600

case "${1-}" in
  -h | --help)
    usage
    exit 0
    ;;
  -*)
    printf 'error: unknown argument %s\n\n' "$1" >&2
    usage >&2
    exit 2
    ;;
esac
if [ "$#" -gt 1 ]; then
  printf 'error: unknown argument %s\n\n' "$2" >&2
  usage >&2
  exit 2
fi
binary=${1-}
if [ -n "$binary" ]; then
  binary=$(realpath -- "$binary")
fi

cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

readonly SETTINGS=$PWD/crates/unloop-server/tests/schemathesis
passed=0
failed=0
skipped=0
server=
folder=$(mktemp -d)

finish() {
  if [ -n "$server" ]; then
    kill -KILL "$server" 2>/dev/null || true
  fi
  rm -rf -- "$folder"
}
trap finish EXIT

main() {
  local missing
  if missing=$(install_schemathesis); then
    fuzz
  elif [ "${CI-}" = true ]; then
    printf '%s\n' "$missing"
    result openapi false
  else
    printf '\nSKIPPED openapi: %s\n' "$missing"
    skipped=$((skipped + 1))
  fi

  printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
}

# result <name> <command...>: runs the command, which is the test.
result() {
  local name=$1
  shift
  if "$@"; then
    printf 'test %s ... ok\n' "$name"
    passed=$((passed + 1))
  else
    printf 'test %s ... FAILED\n' "$name"
    failed=$((failed + 1))
  fi
}

fuzz() {
  find_binary
  start
  result openapi::every_answer_is_as_described answers_as_described
  result openapi::every_call_was_reached every_call_reached
  result openapi::the_server_is_ready_afterwards answers readyz
  result openapi::the_server_stops_in_good_order stops
  result openapi::nothing_is_logged_as_an_error logged_no_error
  result openapi::the_database_is_sound timeout 60 "$binary" verify --db "$folder/unloop.db"
}

find_binary() {
  if [ -n "$binary" ]; then
    return
  fi
  if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
    PATH="$HOME/.cargo/bin:$PATH"
  fi
  if ! command -v cargo >/dev/null; then
    printf 'error: cargo not found\nhint: install Rust from https://rustup.rs\n' >&2
    exit 2
  fi
  cargo build -p unloop-cli --locked
  binary=${CARGO_TARGET_DIR:-target}/debug/unloop
  binary=$(realpath -- "$binary")
}

start() {
  # In a folder of its own: no settings lie about there.
  (cd -- "$folder" && exec "$binary" serve --db "$folder/unloop.db" --listen 127.0.0.1:0 --seed "$SEED" \
    --catalog lunch=soup,salad,curry) >"$folder/out" 2>"$folder/log" &
  server=$!
  local tries
  for tries in $(seq 100); do
    url=$(sed -n '1s|^unloop is at \(http://127\.0\.0\.1:[0-9]*/\)$|\1|p' "$folder/out")
    if [ -n "$url" ]; then
      return
    fi
    sleep 0.1
  done
  cat -- "$folder/log" >&2
  printf 'error: the server did not start in %d tries\n' "$tries" >&2
  exit 2
}

answers_as_described() (
  # What it keeps between runs would change them. The address is for hooks.py.
  cd -- "$folder"
  UNLOOP_URL=$url SCHEMATHESIS_HOOKS=$SETTINGS/hooks.py PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 \
    timeout "$LIMIT" "$venv/bin/schemathesis" --config-file "$SETTINGS/schemathesis.toml" \
    run "${UNLOOP_OPENAPI:-${url}v1/openapi.json}" --url "$url" --seed "$SEED" --max-examples "$EXAMPLES" \
    --continue-on-failure --request-timeout 15 --no-color 2>&1 | cut -c1-2000
)

# Each call of the document was answered as its success, by a figure that the server keeps.
every_call_reached() {
  timeout 60 "$venv/bin/python" "$SETTINGS/reached.py" "$url"
}

answers() {
  timeout 60 "$venv/bin/python" -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=20)' "$url$1"
}

stops() {
  local status=0 stopping=$server waiting
  kill -TERM "$stopping"
  (sleep 30 && kill -KILL "$stopping") 2>/dev/null &
  waiting=$!
  wait "$stopping" || status=$?
  server=
  kill "$waiting" 2>/dev/null || true
  if [ "$status" -ne 0 ]; then
    printf 'exit code %d\n' "$status"
    return 1
  fi
}

logged_no_error() {
  if grep -nE '(^|[[:space:]])ERROR[[:space:]]|panicked' "$folder/log"; then
    return 1
  fi
}

# Prints what is missing, and fails, if something is that cannot be installed.
install_schemathesis() {
  if [ "$("$venv/bin/schemathesis" --version 2>/dev/null)" = "schemathesis, version $VERSION" ]; then
    return
  fi
  if ! python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then
    printf 'there is no Python 3.10 or newer with venv (apt-get install python3 python3-venv)\n'
    return 1
  fi
  rm -rf -- "$venv"
  if ! { python3 -m venv "$venv" && timeout 600 "$venv/bin/pip" install --quiet --disable-pip-version-check \
    --constraint "$SETTINGS/constraints.txt" "schemathesis==$VERSION"; } >&2; then
    rm -rf -- "$venv"
    printf 'schemathesis could not be installed (pip install schemathesis==%s)\n' "$VERSION"
    return 1
  fi
}

mkdir -p -- "${CARGO_TARGET_DIR:-target}"
venv=$(realpath -- "${CARGO_TARGET_DIR:-target}")/schemathesis

main
