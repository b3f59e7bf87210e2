package lint

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// journeys are the ways of values through the program. Each stage is a shortest way from one function to another, by
// functions that it calls or mentions, and by the methods behind those of interfaces. most bounds the packages of all
// stages.
var journeys = []struct {
	value  string
	most   int
	stages [][2]string
}{
	{"the verify string of a task to its verdict", 14, [][2]string{
		{"cmd.runPlan", "plan.decoder.check"}, // it is read from the file
		{"plan.decoder.check", "source.Tree.Next"},
		{"cmd.runPlan", "run.Session.Run"}, // it is in the plan of the state, and in the request of an attempt
		{"run.Session.Run", "scheduler.Loop.Run"},
		{"run.Session.Run", "run.Session.attemptRequest"},
		{"scheduler.Loop.Run", "workspace.Attempts.Attempt"},
		{"workspace.Attempts.Attempt", "check.checkCommand"}, // its evidence is in the result, and back in the loop
		{"check.checkCommand", "proc.Start"},
		{"scheduler.Loop.Run", "event.Event.Encode"},
	}},
	{"a dollar from the stream to wavex status", 11, [][2]string{
		{"scheduler.Loop.Run", "workspace.Attempts.Attempt"},
		{"workspace.Attempts.Attempt", "claude.Agent.Turn"},
		{"claude.Agent.Turn", "budget.Prices.Price"}, // it is in the result, and in the loop
		{"scheduler.Loop.Run", "budget.Ledger.Commit"},
		{"scheduler.Loop.Run", "event.Event.Encode"},
		{"scheduler.Loop.Run", "journal.Log.Append"},
		{"cmd.runStatus", "journal.Follower.Next"},
		{"cmd.runStatus", "scheduler.State.Replay"},
		{"cmd.runStatus", "report.FiguresOf"},
		{"cmd.runStatus", "ui.StatusBox"},
	}},
	{"--max-iterations to the decision", 5, [][2]string{
		{"cmd.runPlan", "cmd.runOptions.limitTable"},
		{"cmd.runPlan", "run.Session.Run"},
		{"run.Session.Run", "scheduler.Loop.Run"},
		{"scheduler.Loop.Run", "budget.Ledger.Reserve"},
	}},
}

// TestJourneys counts the packages that each value crosses.
func TestJourneys(t *testing.T) {
	t.Parallel()
	g := newCallGraph(t)
	for _, j := range journeys {
		packages := map[string]bool{}
		for _, stage := range j.stages {
			way := g.way(stage[0], stage[1])
			if way == nil {
				t.Errorf("%s: no way from %s to %s", j.value, stage[0], stage[1])
			}
			t.Log(strings.Join(way, " > "))
			for _, name := range way {
				packages[name[:strings.Index(name, ".")]] = true
			}
		}
		list := slices.Sorted(maps.Keys(packages))
		t.Logf("%s: %d packages, at most %d: %s", j.value, len(list), j.most, strings.Join(list, " "))
		if len(list) > j.most {
			t.Errorf("%s crosses %d packages, at most %d", j.value, len(list), j.most)
		}
	}
}

// callGraph has the functions that each function calls or mentions, by names like "runner.Local.Attempt".
type callGraph map[string][]string

func newCallGraph(t *testing.T) callGraph {
	g, methods := callGraph{}, map[string][]*types.Func{}
	mentions := map[string][]*types.Func{}
	for path, p := range loadProduction(t) {
		if strings.HasPrefix(path, "wavex/fleet") {
			continue
		}
		for _, file := range p.Syntax {
			for _, decl := range file.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				of := p.TypesInfo.Defs[fn.Name].(*types.Func)
				if fn.Recv != nil {
					methods[of.Name()] = append(methods[of.Name()], of)
				}
				for n := range ast.Preorder(fn.Body) {
					if id, ok := n.(*ast.Ident); ok {
						if to, ok := p.TypesInfo.Uses[id].(*types.Func); ok {
							mentions[funcName(of)] = append(mentions[funcName(of)], to.Origin())
						}
					}
				}
			}
		}
	}
	for from, list := range mentions {
		for _, to := range list {
			recv := to.Signature().Recv()
			if recv == nil || !types.IsInterface(recv.Type()) {
				g[from] = append(g[from], funcName(to))
				continue
			}
			for _, m := range methods[to.Name()] {
				if types.Implements(m.Signature().Recv().Type(), recv.Type().Underlying().(*types.Interface)) {
					g[from] = append(g[from], funcName(m))
				}
			}
		}
	}
	return g
}

// funcName returns the name of a function with its package and the type of its receiver.
func funcName(f *types.Func) string {
	name := f.Name()
	if recv := f.Signature().Recv(); recv != nil {
		of := recv.Type()
		if p, ok := of.(*types.Pointer); ok {
			of = p.Elem()
		}
		if named, ok := of.(*types.Named); ok {
			name = named.Obj().Name() + "." + name
		}
	}
	if f.Pkg() != nil {
		name = f.Pkg().Name() + "." + name
	}
	return name
}

// way returns a shortest way between two functions, or nil.
func (g callGraph) way(from, to string) []string {
	before := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == to {
			var way []string
			for at := to; at != ""; at = before[at] {
				way = append(way, at)
			}
			slices.Reverse(way)
			return way
		}
		for _, next := range g[queue[0]] {
			if _, seen := before[next]; !seen {
				before[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil
}
