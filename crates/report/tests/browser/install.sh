#!/bin/sh
# Makes what the browser tests need: a Chromium, and Playwright in a Python environment of its own. No npm.
#
#   install.sh [--check] [DIRECTORY]
#
# DIRECTORY is where the environment goes; without one, target/tmp/browser. With --check nothing is installed: the exit code says whether all is there.
# Prints the Python to run click_through.py with.
set -eu
check=no
if [ "${1:-}" = "--check" ]; then
    check=yes
    shift
fi
directory=${1:-$(dirname "$0")/../../../../target/tmp/browser}
python="$directory/bin/python"

has_browser() {
    command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1
}
has_playwright() {
    [ -x "$python" ] && "$python" -c "import playwright.sync_api" >/dev/null 2>&1
}

if [ "$check" = yes ]; then
    has_browser || { echo "there is no chromium" >&2; exit 1; }
    has_playwright || { echo "there is no Playwright in $directory" >&2; exit 1; }
    echo "$python"
    exit 0
fi
if ! has_browser; then
    sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get update >&2
    $sudo apt-get install -y --no-install-recommends chromium >&2
fi
if ! has_playwright; then
    python3 -m venv "$directory" >&2
    "$python" -m pip install --quiet "playwright==1.65.0" >&2
fi
echo "$python"
