#!/bin/sh
# A browser for the tests of the page: Debian's Chromium, where none is there and it can be installed.
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null && exit 0
done
[ -n "$TREETOP_BROWSER" ] && exit 0
if [ "$(id -u)" = 0 ]; then as_root=""; else as_root="sudo -n"; fi
if command -v apt-get >/dev/null && $as_root true 2>/dev/null; then
    $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq chromium >/dev/null
fi
command -v chromium >/dev/null || echo "No Chromium could be installed: the tests of the page will be skipped."
