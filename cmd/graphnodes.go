package cmd

import (
	"fmt"
	"slices"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report"
)

// This file makes the nodes of wavex graph: the tasks of a plan, and one node for each list. It knows no format.

// graph holds the nodes of a plan, in its order, and the number of its waves.
type graph struct {
	nodes []graphNode
	waves int
}

// graphNode is a task, or a list with all its items.
type graphNode struct {
	id, title string
	isGroup   bool
	wave      int    // from 1
	blockers  []int  // nodes
	state     string // in a run, as people see it; "" without one
	status    event.Status
}

// graphOf returns the nodes of a plan. run has the states of its tasks and may be nil. If all is true, each item is a
// node. The lists that come with the run are nodes behind the tasks, between the nodes that they wait for and the nodes
// that wait for them.
func graphOf(p *plan.Plan, run *report.Summary, all bool) *graph {
	wave, waves := p.Waves()
	g := &graph{waves: waves}
	at, lists := make([]int, len(p.Tasks)), map[string]int{} // the nodes of tasks and of lists
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if k, ok := lists[t.Group]; ok {
			at[i] = k
			continue
		}
		one := graphNode{id: t.ID, title: t.Title(), wave: wave[i]}
		switch {
		case t.Group != "" && !all:
			one = groupNode(p, run, t.Group)
			one.wave = wave[i]
			lists[t.Group] = len(g.nodes)
		case run != nil:
			one.state, one.status = run.Tasks[i].StatusText(), run.Tasks[i].Status
		}
		at[i] = len(g.nodes)
		g.nodes = append(g.nodes, one)
	}
	late := slices.DeleteFunc(slices.Clone(p.Groups), func(one plan.Group) bool { return one.Known })
	for _, list := range late {
		one, node := groupNode(p, run, list.ID), len(g.nodes)
		one.wave, lists[list.ID] = 1, node
		g.nodes = append(g.nodes, one)
		for _, i := range p.ListBlockers(list.ID) {
			g.block(node, at[i])
		}
	}
	for i := range p.Tasks {
		for _, b := range p.Graph.Blockers(i) {
			g.block(at[i], at[b])
		}
	}
	for _, list := range late {
		tasks, waiting := p.ListWaiters(list.ID)
		for _, i := range tasks {
			g.block(at[i], lists[list.ID])
		}
		for _, id := range waiting {
			g.block(lists[id], lists[list.ID])
		}
	}
	if len(late) > 0 {
		g.deepen()
	}
	return g
}

// block adds a blocker to a node.
func (g *graph) block(node, blocker int) {
	if n := &g.nodes[node]; blocker != node && !slices.Contains(n.blockers, blocker) {
		n.blockers = append(n.blockers, blocker)
	}
}

// deepen moves nodes to waves behind those of their blockers.
func (g *graph) deepen() {
	seen := make([]bool, len(g.nodes))
	var wave func(node int) int
	wave = func(node int) int {
		n := &g.nodes[node]
		if !seen[node] {
			seen[node] = true
			for _, b := range n.blockers {
				n.wave = max(n.wave, wave(b)+1)
			}
			g.waves = max(g.waves, n.wave)
		}
		return n.wave
	}
	for node := range g.nodes {
		wave(node)
	}
}

// groupNode returns the node of a list, without its wave and its blockers.
func groupNode(p *plan.Plan, run *report.Summary, id string) graphNode {
	g := p.Group(id)
	n := graphNode{id: id, isGroup: true, title: fmt.Sprintf("%s (%s)", report.Plural(len(g.Tasks), "item", "items"),
		g.List)}
	if !g.Known {
		n.title = fmt.Sprintf("at most %s (%s)", report.Plural(g.MaxItems, "item", "items"), g.List)
	}
	if run == nil {
		return n
	}
	at := slices.IndexFunc(run.Groups, func(r report.Group) bool { return r.ID == id })
	if at < 0 {
		return n
	}
	switch r := &run.Groups[at]; {
	case !r.Known:
		n.state, n.status = "the list is not known yet", event.Pending
	default:
		n.state, n.status = groupState(r)
	}
	return n
}

// groupState returns the state of a list: how many of its items are in which, and one for all.
func groupState(r *report.Group) (string, event.Status) {
	text := fmt.Sprintf("%d of %s completed", r.Completed, report.Plural(r.Items, "item", "items"))
	status := event.Pending
	if r.Completed == r.Items {
		status = event.Completed
	}
	if r.Failed > 0 {
		text, status = text+fmt.Sprintf(", %d failed", r.Failed), event.Failed
	}
	if r.Running > 0 {
		text, status = text+fmt.Sprintf(", %d running", r.Running), event.InProgress
	}
	return text, status
}

// byWave returns the nodes of each wave, in the order of the plan.
func (g *graph) byWave() [][]int {
	out := make([][]int, g.waves)
	for i := range g.nodes {
		w := g.nodes[i].wave - 1
		out[w] = append(out[w], i)
	}
	return out
}
