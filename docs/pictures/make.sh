#!/bin/sh
# Makes the pictures of the README from a rehearsal of examples/quickstart: terminal.png, while it runs, and
# report.png, the page of the complete run. It needs tmux and Chromium, and ends the tmux server that it starts.
set -eu
cd "$(dirname "$0")/../.."
pictures=$PWD/docs/pictures
for browser in chromium chromium-browser google-chrome; do
  command -v "$browser" >/dev/null && break
done
work=/tmp/wavex # it is in the pictures
mkdir "$work"
tmux="tmux -L wavex-pictures -f /dev/null"
trap '$tmux kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
go build -o "$work/wavex" ./cmd/wavex
git clone -q . "$work/src" && mv "$work/src/examples/quickstart" "$work/src/tally"

LC_ALL=C.UTF-8 WAVEX_REHEARSE_SPEED=0.1 $tmux new-session -d -x 100 -y 24 -c "$work/src" \
  "$work/wavex run tally/plan.json --agent rehearse --yes --report html=report.html; sleep 600"
# The moment after the first retry, while its successor runs.
while ! $tmux capture-pane -p | grep -q 'T-004 (attempt 2)'; do sleep 0.2; done
$tmux capture-pane -e -p >"$work/screen"
esc=$(printf '\033')
{
  cat <<'HTML'
<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #11151b; color: #d8dee7; padding: 14px 18px; }
pre { margin: 0; font: 14px/1.42 "DejaVu Sans Mono", monospace; }
.c32 { color: #4fc48c } .c31 { color: #f5838a } .c33 { color: #e2b052 } .c36 { color: #67c8d8 } .c34 { color: #74b4f6 }
</style><pre>
HTML
  sed -e 's/&/\&amp;/g; s/</\&lt;/g' -e "s/$esc\\[\\(3[1-6]\\)m/<span class=\"c\\1\">/g" -e "s/$esc\\[\\(0\\|39\\)m/<\\/span>/g" \
    -e "s/$esc\\[[0-9;]*m//g" "$work/screen"
  echo '</pre>'
} >"$work/terminal.html"
shot() { # FILE SIZE PAGE
  "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 --window-size="$2" \
    --virtual-time-budget=3000 --screenshot="$pictures/$1" "file://$3" >/dev/null 2>&1
}
shot terminal.png 880,400 "$work/terminal.html"
while ! $tmux capture-pane -p -S - | grep -q '^complete: '; do sleep 0.2; done
shot report.png 1200,860 "$work/src/report.html"
ls -l "$pictures"/*.png
