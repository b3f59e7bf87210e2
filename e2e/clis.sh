#!/bin/sh
# Usage: e2e/clis.sh [VERSION...]. Says how the window of supported releases of the CLI has to move, tests the contract on
# each release in it and on the named ones, and prints how the forms of neighbours differ. It needs npm.
set -eu
cd "$(dirname "$0")/.."
package=@anthropic-ai/claude-code-linux-x64
contract='^Test(FormOfTheCLI|BuiltInSupport|PricesOfTheCLI|LedgerOfRetriesInOneSession|CommandsOfASkill)$'
forms=$(mktemp -d)
trap 'rm -rf "$forms"' EXIT
npm view $package time --json | sed -n 's/^ *"\([0-9.]*\)": "\([0-9-]*\)T.*/\1 \2/p' >"$forms/npm"
newest=$(npm view $package version)
first=$(date -u -d "$(sed -n "s/^$newest //p" "$forms/npm") 90 days ago" +%F)
sed -n 's/^.*{"\(2[0-9.]*\)", "\([0-9-]*\)".*/\1 \2/p' internal/claude/statement/releases.go >"$forms/table"
while read -r version date; do
  grep -qx "$version $date" "$forms/npm" || echo "$version: npm has another date than $date"
  [ "$(printf '%s\n' "$first" "$date" | sort | head -n 1)" = "$first" ] || echo "$version of $date leaves the window"
done <"$forms/table"
grep -q "^$newest " "$forms/table" || echo "$newest enters the window"
before=
rc=0
for version in $({ cut -d' ' -f1 "$forms/table"; printf '%s\n' "$newest" "$@"; } | sort -uV); do
  echo "== $version"
  WAVEX_E2E_CLAUDE=$version WAVEX_E2E_FORMS=$forms go test -count=1 -timeout 30m -run "$contract" ./e2e || rc=1
  [ -z "$before" ] || diff "$forms/$before.txt" "$forms/$version.txt" | grep '^[<>]' || true
  [ ! -s "$forms/$version.txt" ] || before=$version
done
exit $rc
