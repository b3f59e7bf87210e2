package soak

// This file makes a random plan, and knows the files that its finished work has.

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// object is a part of a plan.
type object map[string]any

// randomPlan is a plan with the expected work.
type randomPlan struct {
	rng       *rand.Rand
	short     bool   // without faults that take seconds
	trace     string // a file outside of the project; each execution of a task adds its id
	isolation string
	shape     string
	tasks     []object
	texts     map[string]string // in the finished work, by path
	shared    []string          // ids of tasks that add a line to sharedFile
	exits     map[int]bool      // the exit codes that faults and limits can cause
}

// orphan is a command that leaves a process, which sleeps for orphanTime, in a session of its own.
const (
	orphanTime = "300"
	orphan     = "setsid sleep " + orphanTime + " >/dev/null 2>&1 & "
)

// sharedFile is a file to which several tasks add a line.
const sharedFile = "shared.txt"

// fault is an outcome of the rehearsal agent.
type fault struct {
	outcome string
	exit    int  // with which it can end a session; 0: none of its own
	slow    bool // it takes seconds
}

// faults are all outcomes of the rehearsal agent but ok.
var faults = []fault{
	{"fail", 0, false}, {"truncated", 4, false}, {"no-result", 4, false}, {"garbage", 0, false},
	{"garbage-only", 4, false}, {"result-twice", 0, false},
	{"refusal", 4, false}, {"error-400", 4, false}, {"error-401", 5, false}, {"error-403", 5, false}, {"credit", 5, false},
	{"denial", 4, false}, {"over-turns", 0, false}, {"over-cap", 0, false}, {"orphan", 0, false},
	{"orphan-stdout", 0, false}, {"exit-137", 4, false}, {"dies-before-prompt", 5, false}, {"lost-session", 0, false},
	{"warning", 0, false}, {"limited", 6, false},
	{"error-429", 6, true}, {"error-500", 6, true}, {"error-529", 6, true}, {"stall", 0, true},
	{"hang-at-start", 5, true}, {"hang-after-result", 0, true}, {"ignore-sigterm", 0, true},
	{"interrupted-looks-good", 0, true},
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// newPlan makes a plan of at most most tasks.
func newPlan(rng *rand.Rand, short bool, most int, trace string) *randomPlan {
	p := &randomPlan{rng: rng, short: short, trace: trace, texts: map[string]string{}, exits: map[int]bool{}}
	p.isolation = pick(rng, "shared", "worktree")
	p.shape = pick(rng, "row", "star", "fan", "diamond", "layers", "free", "random")
	n := 1 + rng.IntN(1+rng.IntN(most))
	for i := range n {
		p.tasks = append(p.tasks, p.task(i, n))
	}
	return p
}

// chance reports whether an event of some percent happens.
func (p *randomPlan) chance(percent int) bool { return p.rng.IntN(100) < percent }

func id(i int) string { return fmt.Sprintf("T-%03d", i+1) }

// blockers returns the tasks that task i of n waits for.
func (p *randomPlan) blockers(i, n int) []string {
	from := []string{}
	add := func(j int) { from = append(from, id(j)) }
	switch p.shape {
	case "row":
		if i > 0 {
			add(i - 1)
		}
	case "star", "diamond":
		last := p.shape == "diamond" && i == n-1
		for j := range i {
			if last && j > 0 || !last && j == 0 {
				add(j)
			}
		}
	case "fan":
		if i == n-1 {
			for j := range i {
				add(j)
			}
		}
	case "layers":
		const width = 3
		for j := max(0, (i/width-1)*width); j < i/width*width; j++ {
			if p.chance(60) {
				add(j)
			}
		}
	case "random":
		for j := range i {
			if p.chance(25) {
				add(j)
			}
		}
	}
	return from
}

// task returns task i of n.
func (p *randomPlan) task(i, n int) object {
	name := id(i)
	path := "w/" + name + ".txt"
	text := name + "\n" + strings.Repeat(fmt.Sprint("line of ", name, "\n"), p.rng.IntN(40))
	p.texts[path] = text
	t := object{"id": name, "subject": "Write " + path, "blockedBy": p.blockers(i, n), "verify": p.checks(name, path)}
	if p.chance(5) {
		t["reversibility"] = "1"
	}
	if p.chance(30) {
		t["maxRetries"] = p.rng.IntN(4)
	}
	if p.chance(15) {
		t["command"] = p.command(name, path, text)
		return t
	}
	if p.chance(60) {
		t["files"] = []object{{"path": path, "action": "create"}}
	}
	if p.chance(30) {
		t["retrySession"] = pick(p.rng, "auto", "same", "fresh")
	}
	t["rehearse"] = p.agent(t, name, path, text)
	return t
}

// command returns a command that writes a file. Some fail the first time.
func (p *randomPlan) command(name, path, text string) string {
	c := fmt.Sprintf("echo %s >> %s; mkdir -p w && printf '%s' > %s", name, p.trace,
		strings.ReplaceAll(text, "\n", `\n`), path)
	if p.chance(20) {
		c = fmt.Sprintf("test -e %[1]s.%[2]s || { touch %[1]s.%[2]s; echo not yet; exit 1; }; %[3]s", p.trace, name, c)
	}
	return c
}

// checks returns one to three checks, one of which fails on other contents.
func (p *randomPlan) checks(name, path string) []any {
	all := []any{object{"file": path, "contains": name}}
	for range p.rng.IntN(3) {
		all = append(all, pick[any](p.rng, object{"file": path}, "grep -q "+name+" "+path, "sleep 0.1; test -s "+path,
			object{"run": "test -e " + path, "timeout": "30s"}, object{"file": path, "matches": "^" + name},
			orphan+"sleep 0.05; test -s "+path, "date > checked.tmp; test -s "+path))
	}
	return all
}

// agent returns the actions of the agent of a task, and may add to the task.
func (p *randomPlan) agent(t object, name, path, text string) object {
	writes := []object{{"path": path, "content": text}}
	if p.chance(20) {
		declared := p.isolation == "shared" || p.chance(50) // in one directory, agents would overwrite each other's lines
		if declared {
			files, _ := t["files"].([]object)
			t["files"] = append(files, object{"path": sharedFile, "action": "create or modify"})
		}
		writes = append(writes, object{"path": sharedFile, "append": name + "\n"})
		p.shared = append(p.shared, name)
	}
	runs := []string{"echo " + name + " >> " + p.trace}
	if p.chance(30) {
		runs = append(runs, orphan+"true", "sleep 0.05")
	}
	block := object{"duration": fmt.Sprint(p.rng.IntN(100), "ms"), "cost": float64(1+p.rng.IntN(300)) / 1000,
		"turns": 1 + p.rng.IntN(4), "writes": writes, "runs": runs, "reset_in": "1s", "linger": "5m"}
	var attempts []object
	for p.chance(30) && len(attempts) < 3 {
		attempts = append(attempts, p.failing(t, path))
	}
	if attempts != nil {
		block["attempts"] = append(attempts, object{"outcome": "ok"})
	}
	return block
}

// failing returns the block of an attempt that fails, or that is odd at least.
func (p *randomPlan) failing(t object, path string) object {
	if p.chance(25) {
		return object{"outcome": "ok", "writes": []object{{"path": path, "content": "wrong\n"}}}
	}
	f := pick(p.rng, faults...)
	for f.slow && (p.short || p.chance(70)) {
		f = pick(p.rng, faults...)
	}
	if f.slow {
		t["idleTimeout"] = "4s"
	}
	p.exits[f.exit] = true
	block := object{"outcome": f.outcome}
	if f.outcome == "fail" && p.chance(50) {
		block["writes"] = []object{}
	}
	if p.chance(20) {
		block["after"] = p.rng.IntN(3)
	}
	return block
}

// file returns the text of the plan.
func (p *randomPlan) file() string {
	budget := object{"usd": 100, "iterations": 300}
	if p.chance(15) {
		budget["usd"] = 0.5
		p.exits[3] = true
	}
	if p.chance(10) {
		budget["iterations"] = len(p.tasks)
		p.exits[3] = true
	}
	plan := object{"version": 1, "name": "soak", "parallel": 1 + p.rng.IntN(4),
		"schedule": pick(p.rng, "waves", "eager"), "isolation": p.isolation, "budget": budget, "tasks": p.tasks}
	if p.chance(30) {
		plan["criteria"] = []any{object{"text": "The first file is there.", "check": "test -s w/T-001.txt"}}
	}
	if p.chance(10) {
		plan["mustNot"] = []any{object{"text": "Write elsewhere.", "check": "test -e elsewhere"}}
	}
	text, err := json.MarshalIndent(plan, "", " ")
	if err != nil {
		panic(err) // an object holds only what JSON has
	}
	return string(text)
}

// flags returns the flags of the run.
func (p *randomPlan) flags() []string {
	flags := []string{"--agent", "rehearse", "--accept-assumptions", "--allow-short",
		"--review", pick(p.rng, "off", "off", "off", "off", "off", "off", "light", "thorough", "auto")}
	if p.chance(20) {
		flags = append(flags, "--counsel", "off")
	}
	if p.chance(10) {
		flags = append(flags, "--fail-fast")
	}
	if p.chance(10) {
		flags = append(flags, "--deliver", "branch")
	}
	return flags
}
