package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/spf13/cobra"

	"wavex/internal/gaps"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/proc"
	"wavex/internal/record"
	"wavex/internal/refuse"
	"wavex/internal/report"
	"wavex/internal/secret"
	"wavex/internal/ui/safe"
	"wavex/internal/verify"
	"wavex/scheduler"
)

type verifyOptions struct {
	run    runOptions // of the sessions that fix, and how things are shown
	from   string
	fix    bool
	rounds int
}

func newVerify(std Stdio) *cobra.Command {
	o := verifyOptions{run: runOptions{resuming: true, ifUnfinished: "resume"}}
	c := &cobra.Command{
		Use:   "verify [PLAN]",
		Short: "Make all checks of a plan now, and look for gaps in the work",
		Long: `verify makes every check of every task and criterion of the plan (or of the run
in .loop/ of the current directory), in the project directory as it is now, and
looks at the files that tasks declare for stubs, broken links, imports that lead
nowhere, names that are not exported, and new files that nothing uses. What it
finds are gaps; they are printed, and kept in .loop/VERIFICATION.md where there
is a .loop.

With --fix the run gets a task for each gap and is resumed, round by round,
until there are none; the other flags are those of resume.

Exit status: 0 no gaps, 1 gaps, 2 usage, 3 --fix has used up its rounds, 4 two
rounds of --fix closed no gap, 5 a run is under way; else as of resume.`,
		Example: "  wavex verify\n  wavex verify plan.json --output json\n  wavex verify --fix --budget +5",
		Args:    maybeArg("a plan file"),
		RunE: func(c *cobra.Command, args []string) error {
			o.run.changed = c.Flags().Changed
			if o.fix {
				return runFix(c.Context(), args, o, std)
			}
			return runVerify(c.Context(), args, o, std)
		},
	}
	f := c.Flags()
	f.StringVar(&o.from, "gaps", "", "a VERIFICATION.md whose gaps are taken up as well")
	f.BoolVar(&o.fix, "fix", false, "have the gaps closed by tasks of the run")
	f.IntVar(&o.rounds, "max-rounds", 20, "rounds of --fix")
	runFlags(c, &o.run)
	return c
}

// verifyReport is the JSON of `wavex verify`.
type verifyReport struct {
	V      int           `json:"v"`
	Status string        `json:"status"` // passed, gaps_found
	Plan   string        `json:"plan"`
	Checks []gaps.Looked `json:"checks"`
	Open   []string      `json:"not_verified"` // criteria in prose
	Gaps   []gaps.Gap    `json:"gaps"`
}

func runVerify(ctx context.Context, args []string, o verifyOptions, std Stdio) error {
	v, err := openVerification(args, o.from)
	if err != nil {
		return err
	}
	doc, err := v.locked(ctx, std, nil)
	if err != nil {
		return err
	}
	if err := v.print(doc, o.run, std); err != nil {
		return err
	}
	if len(doc.Gaps) > 0 {
		return exitCode(exitFailed)
	}
	return nil
}

// locked looks, keeps what it finds, and does what else is to be done while no run can
// begin; then may be nil.
func (v *verification) locked(ctx context.Context, std Stdio, then func(*gaps.Document) error) (*gaps.Document, error) {
	unlock, err := v.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	var doc *gaps.Document
	err = v.within(ctx, std, func() (err error) {
		doc, err = v.look(ctx)
		return err
	})
	if err == nil {
		err = v.keep(doc)
	}
	if err == nil {
		err = v.settle(doc, std)
	}
	if err == nil && then != nil {
		err = then(doc)
	}
	return doc, err
}

// print shows a verification, as text or JSON.
func (v *verification) print(doc *gaps.Document, o runOptions, std Stdio) error {
	if o.output != "json" {
		v.tell(doc, o.ascii, std)
		return nil
	}
	r := verifyReport{V: 1, Status: doc.Status(), Plan: v.plan.Path, Checks: doc.Checks, Open: doc.Open, Gaps: doc.Gaps}
	if r.Gaps == nil {
		r.Gaps = []gaps.Gap{}
	}
	if r.Open == nil {
		r.Open = []string{}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = std.Out.Write(append(safe.JSON(v.secrets.Bytes(text)), '\n'))
	return err
}

// verification is the plan, and the run where there is one, that are looked at.
type verification struct {
	plan    *plan.Plan
	state   *scheduler.State // nil: there was no run
	events  []scheduler.Event
	dir     string // of the project, absolute
	at      string // the same, or a directory in its place that holds the run's work
	more    []gaps.Gap
	secrets *secret.Redactor

	asked map[string]plan.Check      // the check that a gap is of, by the gap's key
	shown map[string]verify.Evidence // what checks of criteria showed, by the criterion's id
}

// openVerification finds what is to be looked at. Without a run the plan is enough.
func openVerification(args []string, from string) (*verification, error) {
	v := &verification{secrets: secret.New(os.Environ())}
	past, err := pastRun(args)
	var none *refuse.UsageError
	switch {
	case err == nil:
		v.plan, v.state, v.events, v.dir = past.State.Plan, past.State, past.Events, past.State.Config.Dir
	case len(args) == 0 || !errors.As(err, &none):
		return nil, err
	default:
		p, _, loadErr := planfile.Load(args[0], "")
		if loadErr != nil || p == nil {
			return nil, errors.Join(loadErr, err)
		}
		v.plan = p
		if v.dir, err = planfile.Project(p); err != nil {
			return nil, err
		}
	}
	v.at = v.dir
	if from != "" {
		text, err := os.ReadFile(from)
		if err != nil {
			return nil, usage("reading the gaps: %s", err)
		}
		v.more = gaps.Parse(string(text))
	}
	return v, nil
}

func (v *verification) loop() string { return filepath.Join(v.dir, ".loop") }

// lock keeps a run away while checks are made in its directory.
func (v *verification) lock() (func(), error) {
	if st, err := os.Stat(v.loop()); err != nil || !st.IsDir() {
		return func() {}, nil
	}
	lock, err := record.Hold(v.loop(), "")
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Unlock() }, nil
}

// look makes all checks and scans the work.
func (v *verification) look(ctx context.Context) (*gaps.Document, error) {
	name := v.plan.Name
	if name == "" {
		name = filepath.Base(v.plan.Path)
	}
	doc := &gaps.Document{Name: name, At: time.Now(), Checks: []gaps.Looked{}}
	v.asked, v.shown = map[string]plan.Check{}, map[string]verify.Evidence{}
	made := map[string]verify.Evidence{} // the same check is made once
	one := func(task, dir string, c plan.Check) (verify.Evidence, error) {
		key := fmt.Sprintf("%s\x00%+v", dir, c)
		if e, ok := made[key]; ok {
			return e, nil
		}
		env := proc.Environ(os.Environ(), map[string]string{proc.RunVar: "verify", proc.AttemptVar: "verify/" + task})
		got, err := verify.Run(ctx, dir, env, []plan.Check{c})
		if err == nil {
			made[key] = got[0]
		}
		return got[0], err
	}
	check := func(task, id, dir, words string, c plan.Check) error {
		e, err := one(task, dir, c)
		if err != nil {
			return err
		}
		if id != "" {
			v.shown[id] = e
		}
		reason := v.secrets.String(e.Reason)
		doc.Checks = append(doc.Checks, gaps.Looked{Task: task, Check: e.Check, Passed: e.Passed, Reason: reason})
		if e.Passed {
			return nil
		}
		g := gaps.Gap{Type: gaps.CIFailure, Task: task, Check: e.Check, Description: words, Evidence: safe.Block(v.secrets.String(e.Output))}
		if c.Run == "" {
			g.Type, g.File, g.Evidence = gaps.CheckFailure, v.place(dir, c.File), reason
		}
		if g.Description == "" {
			g.Description = fmt.Sprintf("the check fails: %s", reason)
		}
		doc.Gaps = append(doc.Gaps, g)
		v.asked[g.Key()] = c
		return nil
	}
	for i := range v.plan.Tasks {
		t := &v.plan.Tasks[i]
		for _, c := range t.Verify {
			if err := check(t.ID, "", v.workDir(i), "", c); err != nil {
				return nil, err
			}
		}
		for k, c := range t.Criteria {
			if c.Check == nil {
				doc.Open = append(doc.Open, report.DisplayID(t.ID)+": "+c.Text)
			} else if err := check(t.ID, fmt.Sprintf("%s/C-%d", t.ID, k+1), v.workDir(i), "not true: "+c.Text, *c.Check); err != nil {
				return nil, err
			}
		}
	}
	for k, c := range v.plan.Criteria {
		if c.Check == nil {
			doc.Open = append(doc.Open, c.Text)
		} else if err := check("", fmt.Sprintf("C-%d", k+1), v.at, "not true: "+c.Text, *c.Check); err != nil {
			return nil, err
		}
	}
	for _, c := range v.plan.MustNot {
		if c.Check == nil {
			doc.Open = append(doc.Open, "must not: "+c.Text)
			continue
		}
		e, err := one("", v.at, *c.Check)
		if err != nil {
			return nil, err
		}
		doc.Checks = append(doc.Checks, gaps.Looked{Check: "must not: " + e.Check, Passed: !e.Passed})
		if e.Passed {
			doc.Gaps = append(doc.Gaps, gaps.Gap{Type: "must_not", Check: e.Check, Description: "this is true and must not be: " + c.Text})
		}
	}
	files, created := v.files()
	doc.Gaps = append(doc.Gaps, gaps.Scan(os.DirFS(v.at), files, created)...)
	for _, g := range v.more {
		if !slices.ContainsFunc(doc.Gaps, func(have gaps.Gap) bool { return have.Key() == g.Key() }) {
			doc.Gaps = append(doc.Gaps, g)
		}
	}
	v.attribute(doc.Gaps)
	return doc, nil
}

// workDir is where a task works and is checked.
func (v *verification) workDir(i int) string {
	if s := v.plan.Tasks[i].Settings; s != nil && s.Dir != "" {
		return filepath.Join(v.at, filepath.FromSlash(s.Dir))
	}
	return v.at
}

// place is a file of a check, relative to the project.
func (v *verification) place(dir, file string) string {
	rel, err := filepath.Rel(v.at, filepath.Join(dir, filepath.FromSlash(file)))
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

// files lists what tasks declare to write, relative to the project, and what of it they
// declare to create. Tasks that a run has not completed are left out.
func (v *verification) files() (all, created []string) {
	for i := range v.plan.Tasks {
		if v.state != nil && v.state.Tasks[i].Status != scheduler.Completed {
			continue
		}
		for _, f := range v.plan.Tasks[i].Files {
			if !f.Writes() || f.Action == "delete" {
				continue
			}
			name := v.place(v.workDir(i), f.Path)
			all = append(all, name)
			if f.Action == "create" {
				created = append(created, name)
			}
		}
	}
	return all, created
}

// attribute names the task that declared a gap's file, where there is one alone.
func (v *verification) attribute(list []gaps.Gap) {
	owner := map[string]string{}
	for i := range v.plan.Tasks {
		for _, f := range v.plan.Tasks[i].Files {
			if name := v.place(v.workDir(i), f.Path); f.Writes() {
				if _, shared := owner[name]; shared {
					owner[name] = ""
				} else {
					owner[name] = v.plan.Tasks[i].ID
				}
			}
		}
	}
	for k := range list {
		if g := &list[k]; g.Task == "" && g.File != "" {
			g.Task = owner[path.Clean(g.File)]
		}
	}
}

// keep writes VERIFICATION.md where there is a .loop.
func (v *verification) keep(doc *gaps.Document) error {
	if st, err := os.Stat(v.loop()); err != nil || !st.IsDir() {
		return nil
	}
	return maybe.WriteFile(filepath.Join(v.loop(), "VERIFICATION.md"), v.secrets.Bytes([]byte(doc.Markdown())), 0o600)
}

// tell prints a verification for people.
func (v *verification) tell(doc *gaps.Document, ascii bool, std Stdio) {
	ok, bad := "✓", "✗"
	if ascii {
		ok, bad = "ok", "FAILED"
	}
	line := func(format string, args ...any) {
		fmt.Fprintln(std.Out, safe.Line(v.secrets.String(fmt.Sprintf(format, args...))))
	}
	for _, c := range doc.Checks {
		mark, of, why := ok, "plan", ""
		if c.Task != "" {
			of = report.DisplayID(c.Task)
		}
		if !c.Passed {
			mark = bad
			if c.Reason != "" {
				why = ": " + c.Reason
			}
		}
		line("%s %s %s%s", mark, of, c.Check, why)
	}
	for _, text := range doc.Open {
		line("? %s (in prose: nothing was run for it)", text)
	}
	for _, g := range doc.Gaps {
		at := g.File
		if g.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, g.Line)
		}
		if at == "" {
			at = g.Check
		}
		line("gap %s %s: %s", g.Type, at, g.Description)
	}
	line("%s of %s passed, %s", fmt.Sprint(doc.Passed()), report.Plural(len(doc.Checks), "check", "checks"), report.Plural(len(doc.Gaps), "gap", "gaps"))
}
