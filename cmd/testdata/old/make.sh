#!/bin/bash
# make.sh made the archives beside it: projects that runs of wavex at commit 2eb147a5 left, at the path /tmp/project.
# Usage: PATH=DIRECTORY-OF-WAVEX:$PATH make.sh [KIND...]. The scripts old-KIND.txtar in ../script go on with them.
set -u
here=$(cd "$(dirname "$0")" && pwd)
export HOME=/tmp/project/home WAVEX_CLAUDE=/tmp/project/none
run() { wavex run plan.json --agent rehearse "$@" >/dev/null 2>&1; }
repository() { git init -q --template= -b main; git config user.name A; git config user.email a@example.com
  printf 'home\n.loop\nup\ngo\n' >.gitignore; git add -A; git commit -qm first; }
until_there() { until test -e "$1"; do sleep 0.05; done; }
# stop SIGNAL FILE ARGS...: a run that gets the signal as soon as FILE exists.
stop() {
  local signal=$1 file=$2
  shift 2
  wavex run plan.json --agent rehearse "$@" >/dev/null 2>&1 &
  until_there "$file"
  kill -"$signal" $!
  wait $!
}
task() { printf '{"id": "%s", "subject": "Write %s", "files": ["%s.txt"], "verify": ["test -e %s.txt"]%s,
  "rehearse": {"duration": "0s", "writes": [{"path": "%s.txt", "content": "%s\\n"}]%s}}' $1 $1 $1 $1 "${2-}" $1 $1 "${3-}"; }
plan() { local IFS=,; printf '{"tasks": [%s]}\n' "$*" >plan.json; }
hangs=', "attempts": [{"runs": ["echo >up; sleep 600.75"]}, {}]'
after() { printf ', "blockedBy": ["%s"]' $1; }
wrong='"rehearse": {"duration": "0s"}'
failing() { printf '{"id": "a", "subject": "Do", "verify": ["test -e go"]%s, "rehearse": {"duration": "0s"}}' "${1-}"; }
blocker='"structured": {"score": 4, "findings": [{"severity": "blocker", "file": "a.txt", "line": 1, "text": "no greeting", "fix": "add it"}]}'

complete() { plan "$(task a)" "$(task b "$(after a)")"; run; }
failed() { plan "$(failing)" "$(task b "$(after a)")" "$(task c)"; run --max-retries 0 --counsel off; }
breaker() { plan "$(failing)" "$(task b)"; run --counsel off; }
budget() { plan "$(task a '' ', "cost": 0.2')" "$(task b "$(after a)" ', "cost": 0.2')"; run --budget 0.1 --allow-short --review off; }
interrupted() { plan "$(task a)" "$(task b "$(after a)" "$hangs")"; stop INT up --on-signal interrupt; }
killed() { plan "$(task a)" "$(task b "$(after a)" "$hangs")"; repository; stop KILL up --isolation shared; }
checks() { plan "$(task a)" "$(printf '{"id": "b", "subject": "B", "blockedBy": ["a"], "rehearse": {"duration": "0s", "writes": [{"path": "b.txt", "content": "b"}]},
  "verify": ["test -e go || { echo >up; sleep 600.75; }"]}')"; stop KILL up; }
worktrees() { plan "$(task a)" "$(task b '' ', "attempts": [{"runs": ["echo half >b.txt; sleep 1; echo >/tmp/project/up; sleep 600.75"], "writes": []}, {}]')" "$(task c "$(after b)")"
  repository; stop KILL up --isolation worktree; }
counsel() { plan "$(task a '' ', "attempts": [{"writes": []}, {}]')" "$(task b '' ', "attempts": [{"writes": []}, {}]')"
  run --max-iterations 2 --allow-short --counsel-chair --counsel-holdout 0.5; }
review() { plan "$(task a)"
  printf '{"questions": {"review": {%s}}}' "$blocker" >scenario.json
  run --scenario scenario.json --max-review-rounds 1; }
foreach() { printf '{"tasks": [{"id": "g", "foreach": {"items": ["a", "b", "c", "d"], "budgetUSD": 0.25}, "subject": "Do ${item}",
  "verify": ["test -e ${item}.txt"], "rehearse": {"duration": "0s", "cost": 0.2, "writes": [{"path": "${item}.txt", "content": "x"}]}},
  {"id": "own", "command": "touch own.txt"}]}' >plan.json
  run --counsel off --review off --parallel 1 --accept-assumptions; }
# Only a binary with snapshot.least = 1 writes a snapshot of so short a journal.
snapshot() { plan "$(task a)" "$(task b "$(after a)")"
  run --max-iterations 1 --allow-short --review off --trust; }
spares() { plan "$(task a '' "$hangs")" "$(task b)"; stop KILL up --parallel 1 --budget none; python3 "$here/spare.py" .loop/journal.jsonl; }
tasklist() { printf '{"tasks": [{"id": "a", "subject": "Write", "command": "touch a.txt", "verify": ["test -e a.txt"]},
    {"id": "b", "subject": "Wait", "command": "test -e go", "blockedBy": ["a"], "verify": ["test -e go"]}]}' >plan.json
  wavex export --task-list mine plan.json 2>/dev/null
  wavex run --task-list mine --agent rehearse --counsel off --max-retries 0 >/dev/null 2>&1; }
gate() { local score='{"points": 2, "reason": "r"}' none='{"points": 0, "reason": "r"}'
  printf '{"questions": {"score/1": {"structured": {"outcome": %s, "scope": %s, "constraints": {"points": 1, "reason": "r"}, "success": %s, "done": %s}},
  "decompose/1": {"structured": {"name": "x", "tasks": [
  {"id": "T-001", "subject": "Write x.txt", "description": "d", "files": [{"path": "x.txt", "action": "create"}], "verify": [{"file": "x.txt"}]},
  {"id": "T-002", "subject": "Write y.txt", "description": "d", "blockedBy": ["T-001"], "files": [{"path": "y.txt", "action": "create"}], "verify": [{"file": "y.txt"}]}]}}},
  "tasks": {"T-001": {"writes": [{"path": "x.txt", "content": "x"}]}, "T-002": {"writes": [{"path": "y.txt", "content": "y"}]}}}' "$score" "$score" "$none" "$none" >scenario.json
  python3 "$here/answer.py" wavex start 'Write x' --agent rehearse --scenario scenario.json; }

for kind in ${*:-complete failed breaker budget interrupted killed checks worktrees counsel review foreach snapshot spares tasklist gate}; do
  rm -rf /tmp/project
  mkdir -p /tmp/project/home
  cd /tmp/project
  $kind
  echo "$kind: exit $?"
  while pgrep -f 'sleep 600[.]75' >/dev/null; do sleep 0.1; done
  tar -C /tmp --sort=name --owner=0 --group=0 --numeric-owner -cf - project | gzip -9n >$here/$kind.tar.gz
done
