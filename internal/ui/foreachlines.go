package ui

import (
	"fmt"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// This file shows the running items of a list (foreach) as one line.

// listKind is the Kind of the entry of a list. Its Task is the id of the list.
const listKind = "list"

// updateLists follows the lists that have running items. It looks at no item that does not run.
func (m *liveModel) updateLists(s *scheduler.State) {
	if m.lists == nil {
		m.lists, m.listOf = map[string]report.Group{}, map[string]string{}
	}
	clear(m.lists)
	clear(m.listOf)
	for _, d := range m.running {
		i, ok := s.Index(d.Task)
		if !ok || s.Plan.Tasks[i].Group == "" {
			continue
		}
		id := s.Plan.Tasks[i].Group
		m.listOf[d.Task] = id
		if _, known := m.lists[id]; !known {
			m.lists[id] = report.GroupOf(s, s.Plan.Group(id))
		}
	}
}

// entries returns the running work with one entry for each list.
func (m *liveModel) entries() (out []event.Activity) {
	shown := map[string]bool{}
	for _, d := range m.running {
		id := m.listOf[d.Task]
		switch {
		case id == "":
			out = append(out, d)
		case !shown[id]:
			shown[id] = true
			out = append(out, event.Activity{Task: id, Kind: listKind})
		}
	}
	return out
}

// listLine describes a list: how many of its items are in which state, and its cost.
func listLine(g report.Group, ascii bool) string {
	done, others := g.Progress()
	if others != "" {
		done += ", " + others
	}
	return fmt.Sprintf("  %s %s  %s", textfmt.Fit(g.ID, 60, ascii), done, g.Cost.Spent())
}
