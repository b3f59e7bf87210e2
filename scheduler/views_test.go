package scheduler_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/hook"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/report/page"
	"wavex/internal/report/reporttest"
	"wavex/internal/statefiles"
	"wavex/internal/testrepo"
	"wavex/internal/ui"
	"wavex/scheduler"
)

// This file stops runs at every event and compares the figures of all views with each other.

// figures holds the figures of a run at one moment as people read them, by name. A view has some of them.
type figures map[string]string

// moment is a run that was stopped after some events.
type moment struct {
	s      *scheduler.State
	events []event.Event
	alive  bool
	now    time.Time
}

// viewFigures reads figures from the output of a view.
type viewFigures struct {
	name string
	read func(testing.TB, moment) figures
}

var comparedViews = []viewFigures{
	{"events", eventFigures}, {"json", jsonFigures}, {"table", tableFigures}, {"markdown", markdownFigures},
	{"junit", junitFigures}, {"page", pageFigures}, {"status box", boxFigures},
	{"runs", runsFigures}, {"state-md", stateBlockFigures}, {"announcement", announcementFigures},
	{"ndjson", endFigures},
}

// compare reports figures that differ between two views, and returns all of them.
func compare(t testing.TB, m moment, views []viewFigures) figures {
	t.Helper()
	first, by := figures{}, map[string]string{}
	for _, v := range views {
		for name, value := range v.read(t, m) {
			if was, ok := first[name]; ok && was != value {
				t.Errorf("after %d events, %s: %s says %q, %s says %q", len(m.events), name, by[name], was, v.name, value)
			} else if !ok {
				first[name], by[name] = value, v.name
			}
		}
	}
	return first
}

// watcher stops a run after each event, with its process alive and dead, and compares all views.
type watcher struct {
	t      testing.TB
	events []event.Event
	files  func(n int) bool // reports whether to compare files, and a run cut off, after n events; nil: always
	lines  *lineView
}

func (w *watcher) stop(e event.Event, s *scheduler.State) {
	w.t.Helper()
	if w.events = append(w.events, e); w.t.Failed() {
		return
	}
	m := moment{s: s, events: w.events, alive: true, now: e.Time.Add(3 * time.Second)}
	views := comparedViews
	some := w.files == nil || w.files(len(w.events))
	if some {
		views = append(slices.Clone(views), viewFigures{"files", fileFigures}, viewFigures{"snapshot", snapshotFigures})
	}
	w.lines.stop(e, m.s, compare(w.t, m, views))
	if m.alive = false; some {
		compare(w.t, m, comparedViews)
	}
}

func TestViewsAgreeInEachStory(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(testing.TB, func(event.Event, *scheduler.State)) *reporttest.FakeRun{
		"mixed": reporttest.MixedRun, "complete": reporttest.CompleteRun, "paused": reporttest.PausedRun,
		"hostile": reporttest.HostileRun, "refused": reporttest.RefusedRun, "reviewed": reporttest.ReviewedRun,
		"lists": reporttest.ListRun,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &watcher{t: t, lines: newLineView()}
			tell(t, w.stop)
			w.lines.close(t)
		})
	}
	t.Run("big", func(t *testing.T) {
		t.Parallel()
		story := reporttest.BigRun(t, 60)
		stopAnywhere(t, story.S.Plan, story.Events)
	})
}

// hundreds of random runs take two seconds of CPU each.
var hundreds = flag.Int("hundreds", 1, "how many hundred random runs TestViewsAgreeInRandomRuns stops")

// TestViewsAgreeInRandomRuns stops random runs after each event.
func TestViewsAgreeInRandomRuns(t *testing.T) {
	t.Parallel()
	for n := range *hundreds {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				p, events := scheduler.RandomRun(rt)
				stopAnywhere(propertyTB{t, rt}, p, events)
			})
		})
	}
}

// propertyTB lets a property use the helpers of tests.
type propertyTB struct {
	testing.TB // for its temporary directories
	t          *rapid.T
}

func (b propertyTB) Helper()                      {}
func (b propertyTB) Failed() bool                 { return b.t.Failed() }
func (b propertyTB) Errorf(f string, args ...any) { b.t.Errorf(f, args...) }
func (b propertyTB) Fatalf(f string, args ...any) { b.t.Fatalf(f, args...) }
func (b propertyTB) Fatal(args ...any)            { b.t.Fatal(args...) }

// stopAnywhere replays a journal and stops it after each event. It compares files, and a run cut off, once.
func stopAnywhere(t testing.TB, p *plan.Plan, events []event.Event) {
	t.Helper()
	w := &watcher{t: t, lines: newLineView(), files: func(n int) bool { return n == len(events)/2+1 }}
	s := scheduler.NewState(p)
	for n := range events {
		testrepo.Must(t, s.Replay(events[n:n+1]))
		w.stop(events[n], s)
	}
	w.lines.close(t)
}

func (m moment) summary() report.Summary { return report.Of(m.s, m.events).At(m.now, m.alive) }

// eventFigures computes figures from the events alone, as simply as possible.
func eventFigures(_ testing.TB, m moment) figures {
	var spent budget.USD
	var worked time.Duration
	var since, last time.Time
	paid := map[string]bool{} // attempts whose turn has ended, and checks of an earlier turn
	stop := func(at time.Time) {
		if !since.IsZero() {
			worked += at.Sub(since)
		}
		since = time.Time{}
	}
	for _, e := range m.events {
		switch b := e.Body.(type) {
		case event.RunStarted:
			spent, worked, since = 0, 0, e.Time
		case event.RunResumed:
			stop(last)
			since = e.Time
		case event.AttemptStarted:
			paid[fmt.Sprint(b.Task, b.Attempt)] = b.Why == event.WhyChecks
		case event.TurnEnded:
			spent += b.Turn.Result.Cost
			paid[fmt.Sprint(b.Task, b.Attempt)] = true
		case event.AttemptEnded:
			if !paid[fmt.Sprint(b.Task, b.Attempt)] {
				spent += b.Result.Cost
			}
		case event.CounselEnded:
			spent += b.Verdict.Cost
		case event.ReviewEnded:
			spent += b.Review.Cost
		case event.CriteriaEnded:
			spent += b.Cost
		case event.RunEnded:
			if b.Status == event.RunCancelled {
				stop(last)
			}
			stop(e.Time)
		case event.Inspected, event.RolledBack:
			continue
		}
		last = e.Time
	}
	if m.alive {
		last = m.now
	}
	stop(last)
	return figures{"micro-dollars": fmt.Sprint(int64(spent)), "seconds": seconds(worked)}
}

// seconds formats a duration in whole seconds.
func seconds(d time.Duration) string { return fmt.Sprint(int(d.Seconds())) }

type jsonRun struct {
	Status     string
	Waves      int
	Wave       int
	Counts     event.Counts
	CostUSD    float64  `json:"cost_usd"`
	OtherUSD   float64  `json:"other_usd"`
	BudgetUSD  *float64 `json:"budget_usd"`
	Notional   bool
	Iterations int
	MaxIter    *int `json:"max_iterations"`
	Seconds    float64
	Stage      string
	Groups     []struct {
		ID        string
		Known     bool
		CostUSD   float64 `json:"cost_usd"`
		Completed int
	}
	Tasks []struct {
		ID       string
		Group    string
		Status   string
		Wave     int
		Attempts int
		CostUSD  float64 `json:"cost_usd"`
	}
}

func jsonFigures(t testing.TB, m moment) figures {
	sum := m.summary()
	text, err := sum.JSON()
	var r jsonRun
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	testrepo.Must(t, err)
	l := budget.Limits{NoUSD: r.BudgetUSD == nil, NoIterations: r.MaxIter == nil}
	if !l.NoUSD {
		l.USD = budget.FromFloat(*r.BudgetUSD)
	}
	if !l.NoIterations {
		l.Iterations = *r.MaxIter
	}
	c := r.Counts
	spent := budget.FromFloat(r.CostUSD)
	f := figures{"status": r.Status, "stage": r.Stage, "waves": fmt.Sprint(r.Waves), "wave": fmt.Sprint(r.Wave),
		"tasks":         fmt.Sprint(c.Completed, c.Failed, c.Blocked, c.Pending),
		"done":          fmt.Sprintf("%d/%d", c.Completed, len(r.Tasks)),
		"micro-dollars": fmt.Sprint(int64(spent)), "money": report.FormatNotional(spent, l, r.Notional),
		"iterations": report.FormatIterations(r.Iterations, l), "seconds": fmt.Sprint(int(r.Seconds)),
		"time": report.FormatDuration(time.Duration(math.Round(r.Seconds*1e6)) * time.Microsecond)}
	rest := budget.FromFloat(r.OtherUSD)
	done, all := make([]int, r.Waves+1), make([]int, r.Waves+1)
	for _, task := range r.Tasks {
		usd := budget.FromFloat(task.CostUSD)
		f["task "+task.ID] = fmt.Sprint(task.Attempts, " ", usd.Spent())
		f["status of "+task.ID] = task.Status
		rest += usd
		all[task.Wave]++
		if task.Status == "completed" {
			done[task.Wave]++
		}
	}
	for _, g := range r.Groups {
		items, completed := 0, 0
		for _, task := range r.Tasks {
			if task.Group == g.ID && !strings.HasSuffix(task.ID, "].look") { // the first step of two
				if items++; task.Status == "completed" {
					completed++
				}
			}
		}
		f["list "+g.ID] = fmt.Sprintf("%d/%d %s", completed, items, budget.FromFloat(g.CostUSD).Spent())
		if !g.Known {
			f["list "+g.ID] = "unknown $0.00"
		}
	}
	for w := 1; w <= r.Waves; w++ {
		f[fmt.Sprint("done in wave ", w)] = fmt.Sprintf("%d/%d", done[w], all[w])
	}
	if rest != spent {
		t.Errorf("after %d events, tasks and the rest cost %s, and the run %s", len(m.events), rest, spent)
	}
	return f
}

// patterns holds the compiled patterns.
var patterns sync.Map

func compiled(pattern string) *regexp.Regexp {
	if p, ok := patterns.Load(pattern); ok {
		return p.(*regexp.Regexp)
	}
	p := regexp.MustCompile(pattern)
	patterns.Store(pattern, p)
	return p
}

// match returns the groups of a pattern that a text must have.
func match(t testing.TB, pattern, text string) []string {
	t.Helper()
	found := compiled(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in\n%s", pattern, text)
	}
	return found[1:]
}

const (
	moneyPattern = `(\$[0-9.]+/(?:none|\$[0-9.]+)(?: \(notional\))?)`
	totalPattern = `(?m)^(?:\*\*)?([a-z][a-z ]*): (\d+) of (\d+) tasks? completed, (?:(\d+) verified, )?` +
		`(\d+) failed, (\d+) blocked, (\d+) pending`
)

// totalFigures reads the totals below a table.
func totalFigures(t testing.TB, text string) figures {
	t.Helper()
	n := match(t, totalPattern, text)
	sums := match(t, `Cost: `+moneyPattern+`.* \| Iterations: (\S+) .*?(?:\| Time: (\S+))?\n`, text)
	verified, _ := strconv.Atoi(n[3]) // "" if no task is
	pending, _ := strconv.Atoi(n[6])
	f := figures{"status": n[0], "done": n[1] + "/" + n[2],
		"tasks": strings.Join([]string{n[1], n[4], n[5], strconv.Itoa(pending + verified)}, " "),
		"money": sums[0], "iterations": sums[1]}
	if sums[2] != "" {
		f["time"] = sums[2]
	}
	return f
}

func tableFigures(t testing.TB, m moment) figures {
	sum := m.summary()
	text := sum.Table(0, true)
	f := totalFigures(t, text)
	for _, row := range compiled(`(?m)^(\S+)  .*?  +(\d+)  +(?:-|\d+)  +(\$[0-9.]+)  `).FindAllStringSubmatch(text, -1) {
		f["task "+row[1]] = row[2] + " " + row[3]
	}
	for _, row := range compiled(`(?m)^(\S+) +(\d+/\d+|unknown) .*?(\$[0-9.]+)  `).FindAllStringSubmatch(text, -1) {
		f["list "+row[1]] = row[2] + " " + row[3]
	}
	return f
}

func markdownFigures(t testing.TB, m moment) figures {
	sum := m.summary()
	text := strings.NewReplacer(`\`, "", "  \n", "\n").Replace(sum.Markdown())
	f := totalFigures(t, text)
	for _, row := range compiled(`(?m)^\| (\S+) \|.*\| (\d+) \| \d+ \| (\$[0-9.]+) \|`).FindAllStringSubmatch(text, -1) {
		f["task "+row[1]] = row[2] + " " + row[3]
	}
	lists := compiled(`(?m)^\| (\S+) \|.*\| (\d+/\d+|unknown) \| .*(\$[0-9.]+) \|`)
	for _, row := range lists.FindAllStringSubmatch(text, -1) {
		f["list "+row[1]] = row[2] + " " + row[3]
	}
	return f
}

func junitFigures(t testing.TB, m moment) figures {
	sum := m.summary()
	text, err := sum.JUnit()
	var doc struct {
		Suites []struct {
			Name       string `xml:"name,attr"`
			Properties []struct {
				Name  string `xml:"name,attr"`
				Value string `xml:"value,attr"`
			} `xml:"properties>property"`
			Cases []struct {
				Name   string `xml:"name,attr"`
				Status string `xml:"status,attr"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err == nil {
		err = xml.Unmarshal(text, &doc)
	}
	testrepo.Must(t, err)
	f := figures{}
	for _, s := range doc.Suites {
		for _, p := range s.Properties {
			switch p.Name {
			case "status":
				f["status"] = p.Value
			case "cost_usd":
				usd, err := strconv.ParseFloat(p.Value, 64)
				testrepo.Must(t, err)
				f["micro-dollars"] = fmt.Sprint(int64(budget.FromFloat(usd)))
			}
		}
		for _, c := range s.Cases {
			if id, _, _ := strings.Cut(c.Name, " "); s.Name != "gate" {
				f["status of "+id] = c.Status
			}
		}
	}
	return f
}

func pageFigures(t testing.TB, m moment) figures {
	data, err := page.Encode(page.Of(m.s, m.events, m.now, m.alive))
	var r page.Run
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	testrepo.Must(t, err)
	var worked int64
	for _, s := range r.Sessions {
		worked += s[1] - s[0]
	}
	l := budget.Limits{NoUSD: r.Budget == nil, NoIterations: r.MaxIter == nil}
	if !l.NoUSD {
		l.USD = budget.USD(*r.Budget)
	}
	if !l.NoIterations {
		l.Iterations = *r.MaxIter
	}
	counts := map[string]int{}
	running := 0
	f := figures{"status": string(r.Status), "wave": fmt.Sprint(r.Wave), "waves": fmt.Sprint(r.Waves),
		"micro-dollars": fmt.Sprint(int64(r.Cost)), "money": report.FormatNotional(budget.USD(r.Cost), l, r.Notional),
		"iterations": report.FormatIterations(r.Iterations, l), "seconds": fmt.Sprint(worked / 1000)}
	for _, task := range r.Tasks {
		counts[string(task.Status)]++
		f["task "+task.ID] = fmt.Sprint(task.Attempts, " ", budget.USD(task.Cost).Spent())
		f["status of "+task.ID] = string(task.Status)
		if task.Now != nil {
			running++
		}
	}
	for _, l := range r.Lists {
		f["list "+l.ID] = fmt.Sprintf("%d/%d %s", l.Completed, l.Items, budget.USD(l.Cost).Spent())
		if !l.Known {
			f["list "+l.ID] = "unknown " + budget.USD(l.Cost).Spent()
		}
		if sum := l.Completed + l.Verified + l.Running + l.Failed + l.Blocked + l.Waiting; sum != l.Items {
			t.Errorf("after %d events, list %s has %d items, and states of %d", len(m.events), l.ID, l.Items, sum)
		}
	}
	f["done"] = fmt.Sprintf("%d/%d", counts["completed"], len(r.Tasks))
	f["running"] = fmt.Sprint(running)
	if n := len(r.Spending); n > 0 {
		if r.Spending[n-1][1] != int64(r.Cost) {
			t.Errorf("after %d events, the curve ends at %d, and %d are spent", len(m.events), r.Spending[n-1][1], r.Cost)
		}
	}
	return f
}

func wide(n int) func() int { return func() int { return n } }

func boxFigures(t testing.TB, m moment) figures {
	st := ui.StatusOf(m.s, m.alive)
	st.Plain = true
	text := ui.StatusBox(st, ui.Options{ASCII: true, Width: wide(101)})
	head, _, _ := strings.Cut(text, ": ")
	money := match(t, `(\d+/\d+) tasks.* \| `+moneyPattern+`.* \| iteration\s+(\S+)\n`, text)
	f := figures{"status": head, "done": money[0], "money": money[1], "iterations": money[2]}
	if w := compiled(`waves +wave (\d+) of (\d+), `).FindStringSubmatch(text); w != nil {
		f["wave"], f["waves"] = w[1], w[2]
	}
	return f
}

func runsFigures(_ testing.TB, m moment) figures {
	list := report.Runs(m.events, m.now, m.alive)
	r := list[len(list)-1]
	return figures{"status": string(r.Status), "micro-dollars": fmt.Sprint(int64(r.Cost)), "seconds": seconds(r.WorkTime),
		"done": fmt.Sprintf("%d/%d", r.Completed, r.Tasks), "ran": fmt.Sprint(r.Iterations)}
}

func stateBlockFigures(t testing.TB, m moment) figures {
	n := match(t, `\n  iteration: (\d+)\n  max_iterations: (\d+)\n`, string(report.StateBlock(m.s, m.events, "1")))
	l := m.s.Ledger.Limits()
	f := figures{"ran": n[0]}
	if !l.NoIterations {
		f["iterations"] = n[0] + "/" + n[1]
	}
	return f
}

func announcementFigures(t testing.TB, m moment) figures {
	var a ui.Announcer
	text := strings.Join(a.Lines(m.s), "\n")
	n := match(t, `\nProgress: (\d+/\d+) tasks \| Wave: (\d+)\n`, text)
	f := figures{"done": n[0], "stage": match(t, `\nStage: (\S+) `, text)[0]}
	if n[1] != "0" {
		f["wave"] = n[1]
	}
	return f
}

// endFigures reads the line of an end, if the last event is one.
func endFigures(t testing.TB, m moment) figures {
	last := m.events[len(m.events)-1]
	if _, ok := last.Body.(event.RunEnded); !ok {
		return nil
	}
	var out bytes.Buffer
	v := ui.NDJSON(&out)
	v.Event(last, m.s)
	testrepo.Must(t, v.Close())
	var end struct {
		Status     string
		Tasks      event.Counts
		CostUSD    float64 `json:"cost_usd"`
		Iterations int
	}
	testrepo.Must(t, json.Unmarshal(out.Bytes(), &end))
	c := end.Tasks
	return figures{"status": end.Status, "tasks": fmt.Sprint(c.Completed, c.Failed, c.Blocked, c.Pending),
		"micro-dollars": fmt.Sprint(int64(budget.FromFloat(end.CostUSD))), "ran": fmt.Sprint(end.Iterations)}
}

// snapshotFigures reads the snapshot for the hooks of Claude Code.
func snapshotFigures(t testing.TB, m moment) figures {
	dir := loop.Dir(t.TempDir())
	w := hook.NewSnapshotWriter(dir, "", nil)
	w.Event(m.events[len(m.events)-1], m.s)
	testrepo.Must(t, w.Close())
	text, err := os.ReadFile(dir.Path(loop.HookSnapshot))
	var shown hook.Snapshot
	if err == nil {
		err = json.Unmarshal(text, &shown)
	}
	testrepo.Must(t, err)
	return figures{"done": fmt.Sprintf("%d/%d", shown.Completed, shown.Tasks)}
}

func fileFigures(t testing.TB, m moment) figures {
	dir := t.TempDir()
	testrepo.Must(t, statefiles.Rebuild(loop.Dir(dir), nil, m.s))
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		testrepo.Must(t, err)
		return text
	}
	var w struct {
		Stage string
		Wavex struct {
			Wave, Waves, Iteration int
			CostUSD                float64 `json:"cost_usd"`
			Counts                 event.Counts
			Tasks                  []struct {
				ID, Status string
			}
		}
	}
	var l struct {
		Iteration int
		Steps     []string
		Completed []string `json:"completedSteps"`
	}
	testrepo.Must(t, json.Unmarshal(read(loop.WorkflowFile), &w))
	testrepo.Must(t, json.Unmarshal(read(loop.LinearFile), &l))
	progress := bytes.ReplaceAll(read(loop.ProgressFile), []byte(" complete"), nil)
	x := w.Wavex
	f := figures{"stage": w.Stage, "wave": fmt.Sprint(x.Wave), "waves": fmt.Sprint(x.Waves),
		"ran":           fmt.Sprint(x.Iteration),
		"micro-dollars": fmt.Sprint(int64(budget.FromFloat(x.CostUSD))),
		"tasks":         fmt.Sprint(x.Counts.Completed, x.Counts.Failed, x.Counts.Blocked, x.Counts.Pending),
		"done":          fmt.Sprintf("%d/%d", len(l.Completed), len(l.Steps)),
		"money":         match(t, `Cost: `+moneyPattern, string(progress))[0]}
	if n := match(t, `- Tasks: (\d+/\d+)`, string(progress))[0]; n != f["done"] || l.Iteration != x.Iteration {
		t.Errorf("after %d events, PROGRESS.md says %s, state.json %s, iterations %d and %d", len(m.events), n, f["done"],
			l.Iteration, x.Iteration)
	}
	for _, task := range x.Tasks {
		f["status of "+task.ID] = task.Status
	}
	return f
}

// lineView collects the lines of the plain view, and the lines that there should be.
type lineView struct {
	ui.View
	out       bytes.Buffer
	wanted    []string // [LOOP] lines, in order
	completed map[string]bool
}

func newLineView() *lineView {
	v := &lineView{completed: map[string]bool{}}
	v.View = ui.Plain(&v.out, ui.Options{})
	return v
}

// stop shows an event. f has the figures after it.
func (v *lineView) stop(e event.Event, s *scheduler.State, f figures) {
	v.Event(e, s)
	if b, ok := e.Body.(event.AttemptStarted); ok && b.Why != event.WhyChecks {
		_, most, _ := strings.Cut(f["iterations"], "/")
		v.wanted = append(v.wanted, fmt.Sprintf("Iteration %d/%s | Cost: %s", b.Iteration, most, f["money"]))
	}
	n := len(v.completed)
	switch b := e.Body.(type) {
	case event.RunStarted:
		clear(v.completed)
	case event.AttemptEnded:
		if i, ok := s.Index(b.Task); ok && b.Status == event.Completed && s.Tasks[i].Key == b.Key {
			v.completed[b.Task] = true
		}
	case event.IntegrationEnded:
		for _, id := range b.Completed {
			v.completed[id] = true
		}
	case event.RunEnded:
		v.wanted = append(v.wanted, fmt.Sprintf("Ended %s %s", f["done"], f["money"]))
	}
	if len(v.completed) > n {
		v.wanted = append(v.wanted, fmt.Sprintf("complete %d", len(v.completed)-n))
	}
}

func (v *lineView) close(t testing.TB) {
	t.Helper()
	testrepo.Must(t, v.Close())
	var got []string
	done := 0
	flush := func() {
		if done > 0 {
			got = append(got, fmt.Sprintf("complete %d", done))
		}
		done = 0
	}
	last := ""
	for l := range strings.Lines(v.out.String()) {
		at, text, _ := strings.Cut(strings.TrimSpace(l), " [LOOP] ")
		if at != last {
			flush()
		}
		last = at
		switch {
		case strings.HasPrefix(text, "Iteration"):
			flush()
			got = append(got, match(t, `^(Iteration \S+ \| Cost: `+moneyPattern+`)`, text)[0])
		case strings.HasPrefix(text, "✓"):
			done++
		case strings.HasPrefix(text, "Ended"):
			flush()
			n := match(t, `Progress: (\d+/\d+) \| Cost: `+moneyPattern, text)
			got = append(got, "Ended "+n[0]+" "+n[1])
		}
	}
	if !slices.Equal(got, v.wanted) && !t.Failed() {
		t.Errorf("[LOOP] lines:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(v.wanted, "\n"))
	}
}
