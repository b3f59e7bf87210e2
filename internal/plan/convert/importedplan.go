package convert

// This file has the structure that all importers fill in, and its conversion to the tree of a
// native plan. It knows no foreign format. It judges checks last, once all files are known.

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

// phrase is a text of a foreign file with its position.
type phrase struct {
	text string
	at   source.Location
}

func (w phrase) node() *source.Node {
	if w.text == "" {
		return nil
	}
	return source.Text(w.text, w.at)
}

// mustLook begins a criterion that a checkpoint became.
const mustLook = "A person must look: "

// observation returns a criterion that only a person or a reviewer can judge.
func (w phrase) observation() *source.Node {
	return source.Object(w.at).Set("text", w.node()).Set("verification", source.Text("observation", w.at))
}

// claim is a check of a foreign file: a kind, a command, or only words.
type claim struct {
	kind, command string
	phrase
}

type importedWave struct {
	number     int
	title      string
	sequential bool
	at         source.Location
}

// node returns the data of a wave in the form of a plan; nil if there is none.
func (w importedWave) node() *source.Node {
	if w.title == "" && !w.sequential {
		return nil
	}
	n := source.Object(w.at).Set("wave", source.Count(w.number, w.at)).Set("title", phrase{w.title, w.at}.node())
	if w.sequential {
		n.Set("parallel", &source.Node{Kind: source.KindBool, Text: "false", At: w.at})
	}
	return n
}

type importedTask struct {
	at       source.Location
	id       phrase
	subject  phrase
	action   phrase
	sections []string // the parts of the description after the action
	wave     int
	waveAt   source.Location
	alone    *source.Node // whether it may run beside others
	blockers []phrase
	files    []importedFile
	claims   []claim
	metadata *source.Node

	checks []*source.Node
	manual []phrase
}

type importedFile struct {
	path   phrase
	action string
}

func (f importedFile) node() *source.Node {
	if f.action == "" {
		return f.path.node()
	}
	return source.Object(f.path.at).Set("path", f.path.node()).Set("action", source.Text(f.action, f.path.at))
}

// importedPlan is a plan as an importer understood it.
type importedPlan struct {
	*plan.DiagnosticList
	form    string // in messages: "a phase plan"
	lenient bool
	at      source.Location

	name      phrase
	phase     phrase   // number of a phase plan
	title     phrase   // of a phase plan
	request   []phrase // paragraphs
	criteria  []phrase
	mustNot   []phrase
	links     []link
	waves     []importedWave
	waveIndex map[int]int // index into waves, by number
	tasks     []*importedTask

	waveCount, taskCount *source.Node // the counts that the file states
	taskCountAll         int          // with checkpoints
}

func (f *importedPlan) notCarried(at source.Location, what string) {
	f.Warn(at, plan.CodeNotCarried,
		"%s has no place in a plan and was left out; put it into the goal or a task if agents need it", what)
}

// setOnce sets a text that a plan has once, and reports a second one.
func (f *importedPlan) setOnce(text *phrase, p phrase, what string) {
	switch {
	case text.text == "":
		*text = p
	case p.text != "" && p.text != text.text:
		f.notCarried(p.at, "a second "+what+", "+source.Quote(p.text)+",")
	}
}

// maxWaveTitle and maxName bound texts of one line, in bytes.
const (
	maxWaveTitle = 200
	maxName      = 300
)

// wave adds the data of a wave. Repeated data of one wave is merged.
func (f *importedPlan) wave(w importedWave) {
	if title := w.title; len(title) > maxWaveTitle {
		w.title = clipText(title, maxWaveTitle)
		f.notCarried(w.at, "the end of a title, "+source.Quote(title[len(w.title)-len("..."):])+",")
	}
	if i, known := f.waveIndex[w.number]; known {
		old := &f.waves[i]
		old.sequential = old.sequential || w.sequential
		title := phrase{old.title, old.at}
		f.setOnce(&title, phrase{w.title, w.at}, fmt.Sprint("title of wave ", w.number))
		old.title = title.text
		return
	}
	if f.waveIndex == nil {
		f.waveIndex = map[int]int{}
	}
	f.waveIndex[w.number] = len(f.waves)
	f.waves = append(f.waves, w)
}

// tree returns the native plan. Its name is one line; a long one is cut, and the request has all of it.
func (f *importedPlan) tree() *source.Node {
	f.checkCounts()
	f.sequenceAlone()
	c := newClaimParser(f)
	for _, t := range f.tasks {
		for _, claim := range t.claims {
			f.convertClaim(c, t, claim)
		}
	}
	f.name.text = strings.Join(strings.Fields(f.name.text), " ")
	if len(f.name.text) > maxName {
		f.request = slices.Insert(f.request, 0, f.name)
		f.name.text = clipText(f.name.text, maxName)
	}
	root := source.Object(f.at).Set("version", source.Count(plan.Version, f.at)).Set("name", f.name.node())
	if len(f.request) > 0 {
		var parts []string
		for _, p := range f.request {
			parts = append(parts, p.text)
		}
		root.Set("request", source.Text(strings.Join(parts, "\n\n"), f.request[0].at))
	}
	root.Set("criteria", listOf(f.criteria, func(w phrase) *source.Node { return f.condition(c, w) }))
	root.Set("mustNot", listOf(f.mustNot, phrase.observation))
	root.Set("links", listOf(f.links, link.node)).Set("waves", listOf(f.waves, importedWave.node))
	tasks := source.List(f.at)
	for _, t := range f.tasks {
		tasks.Items = append(tasks.Items, t.tree())
	}
	return root.Set("tasks", tasks)
}

// addTokens puts the estimated tokens of the whole work into the request. 45k and 45000 are the same number.
func (f *importedPlan) addTokens(p phrase) {
	if p.text == "" {
		return
	}
	if m := regexp.MustCompile(`^~?\s*(\d{1,9}(?:\.\d{1,3})?)\s*([kKmM]?)$`).FindStringSubmatch(p.text); m != nil {
		n, err := strconv.ParseFloat(m[1], 64)
		if err == nil {
			n *= map[string]float64{"": 1, "k": 1e3, "m": 1e6}[strings.ToLower(m[2])]
			p.text = strconv.FormatFloat(n, 'f', 0, 64)
		}
	}
	f.request = append(f.request, phrase{"Estimated tokens: " + p.text, p.at})
}

func (t *importedTask) tree() *source.Node {
	n := source.Object(t.at).Set("id", t.id.node()).Set("subject", t.subject.node())
	if n.Get("subject") == nil {
		n.Set("subject", source.Text(t.title(), t.at))
	}
	description := t.action.text
	if len(t.sections) > 0 {
		description = strings.Trim(description+"\n\n"+strings.Join(t.sections, "\n\n"), "\n")
	}
	n.Set("description", phrase{description, t.action.at}.node())
	if t.wave != 0 {
		n.Set("wave", source.Count(t.wave, t.waveAt))
	}
	blocker := func(b phrase) *source.Node { return source.Text(b.text, b.at) }
	n.Set("blockedBy", listOf(t.blockers, blocker)).Set("files", listOf(t.files, importedFile.node))
	// Always set it: a "Verify:" at the end of foreign prose is not a command.
	n.Set("verify", source.List(t.at, t.checks...))
	return n.Set("criteria", listOf(t.manual, phrase.observation)).Set("metadata", t.metadata)
}

// listOf returns a list of the nodes of items at the place of the first one; nil if there is none.
func listOf[T any](items []T, node func(T) *source.Node) *source.Node {
	var list []*source.Node
	for _, item := range items {
		if n := node(item); n != nil {
			list = append(list, n)
		}
	}
	if list == nil {
		return nil
	}
	return source.List(list[0].At, list...)
}

// title returns a subject for a task without one: the start of its text.
func (t *importedTask) title() string {
	for _, text := range append([]string{t.action.text}, t.sections...) {
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		line, _, _ = strings.Cut(line, ". ")
		line = strings.TrimRight(strings.Trim(strings.TrimSpace(line), "#*"), " .:")
		if line = strings.TrimSpace(line); line != "" {
			return clipText(line, 100)
		}
	}
	return "Task " + t.id.text
}

// clipText returns a text of at most n bytes, cut between words if possible.
func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = strings.ToValidUTF8(s[:n-3], "")
	if i := strings.LastIndexByte(s, ' '); i > n/2 {
		s = s[:i]
	}
	return strings.TrimRight(s, " ,;:") + "..."
}

// addAction adds a text to the beginning of the description.
func (t *importedTask) addAction(p phrase) {
	if t.action.text != "" && p.text != "" {
		p.text = t.action.text + "\n\n" + p.text
	}
	if p.text != "" {
		t.action = p
	}
}

// section adds a paragraph to the description.
func (t *importedTask) section(title, text string) {
	if text = strings.TrimSpace(text); text != "" {
		t.sections = append(t.sections, title+": "+text)
	}
}

// addMetadata puts a value without a field in plans into metadata, at most a hundred for each task, unless it is a
// limit.
func (f *importedPlan) addMetadata(t *importedTask, name string, value *source.Node) {
	if f.carryTaskLimit(t, name, value) {
		return
	}
	if t.metadata == nil {
		t.metadata = source.Object(value.At)
	}
	if len(t.metadata.Items) >= 200 || t.metadata.Get(name) != nil {
		f.notCarried(value.At, "task "+source.Quote(t.id.text)+": "+source.Quote(name))
		return
	}
	t.metadata.Set(name, value)
}

// checkCounts compares the counts that the file states with the tasks and waves found in it. A difference
// means that the import lost a task.
func (f *importedPlan) checkCounts() {
	waves := map[int]bool{}
	for _, t := range f.tasks {
		if t.wave > 0 {
			waves[t.wave] = true
		}
	}
	compare := func(says *source.Node, found int, what string) {
		if says == nil || says.Text == fmt.Sprint(found) {
			return
		}
		const text = "the file says that it has %s %s, and %d were found; mend the count, or the part that was not understood"
		if f.lenient {
			f.Warn(says.At, plan.CodeWrongCount, text, clipText(says.Text, 20), what, found)
		} else {
			f.Error(says.At, plan.CodeWrongCount, text, clipText(says.Text, 20), what, found)
		}
	}
	compare(f.taskCount, cmp.Or(f.taskCountAll, len(f.tasks)), "tasks")
	compare(f.waveCount, len(waves), "waves")
}

// sequenceAlone handles tasks that must not run beside others. A plan can say this only about waves, so the whole wave
// of such a task becomes sequential.
func (f *importedPlan) sequenceAlone() {
	size := map[int]int{} // of waves
	for _, t := range f.tasks {
		size[t.wave]++
	}
	for _, t := range f.tasks {
		if t.alone == nil || !f.isFalse(t.alone) || len(f.tasks) == 1 {
			continue
		}
		i, known := f.waveIndex[t.wave]
		switch {
		case t.wave == 0:
			f.Error(t.alone.At, plan.CodeNotCarried, "task %s is not to run beside others, which a plan says of waves: "+
				"remove it, import the file, and write \"parallel\": false into the wave of the task", source.Quote(t.id.text))
		case size[t.wave] > 1 && !(known && f.waves[i].sequential):
			f.wave(importedWave{number: t.wave, sequential: true, at: t.alone.At})
			f.Warn(t.alone.At, plan.CodeGuessed, "task %s is not to run beside others: the tasks of its wave run one after "+
				"the other", source.Quote(t.id.text))
		}
	}
}

// normalizeID returns one spelling for all ids that name the same task.
func normalizeID(id string) string {
	if n, ok := plan.NumericID(id); ok {
		return fmt.Sprint(n)
	}
	return id
}

// Form is the format of a plan file.
type Form string

// The supported forms. All but the first two are imported (docs/imports.md).
const (
	FormJSON       Form = "wavex JSON"
	FormYAML       Form = "wavex YAML"
	FormPhase      Form = "phase plan in markdown"
	FormPhaseDoc   Form = "phase plan in JSON"
	FormStories    Form = "prd.json"
	FormSteps      Form = "state.json"
	FormSpecKit    Form = "tasks.md of spec-kit"
	FormOpenSpec   Form = "tasks.md of OpenSpec"
	FormKiro       Form = "tasks.md of Kiro"
	FormChecklist  Form = "checklist in markdown"
	FormTaskMaster Form = "Task Master tasks.json"
	FormBeads      Form = "beads JSONL"
	formUnknown    Form = "markdown"
)

// maxImport bounds, in bytes, an imported file, because it is held as a tree.
const maxImport = 16 << 20

func isDone(status string) bool {
	status = strings.Trim(status, " ✅✓✔")
	return slices.Contains([]string{"done", "complete", "completed", "closed", "finished", "resolved", "archived"}, status)
}

func isDropped(status string) bool {
	return slices.Contains([]string{"cancelled", "canceled", "deferred", "tombstone", "wont-fix", "wontfix"}, status)
}
