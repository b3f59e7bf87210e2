package probe

import (
	"path/filepath"
	"strconv"
	"strings"

	"wavex/budget"
	"wavex/internal/fakeapi"
)

// turn is a turn of a scripted conversation. Its requests are recognised by its prompt.
type turn int

const (
	toolTurn turn = iota + 1
	interruptedTurn
	plainTurn
	resumedTurn
	cappedTurn
	schemaTurn
	snapshotTurn
	takenTurn
	taskTurn
	sectionsTurn
)

// prompt returns the text that begins a turn.
func (n turn) prompt() string { return "wavex probe, turn " + strconv.Itoa(int(n)) + "." }

// asked matches the requests of a turn. A resumed session also contains the prompts of earlier
// turns.
func (n turn) asked(r *fakeapi.Request) bool {
	all := r.Users()
	return strings.LastIndex(all, n.prompt()) > -1 &&
		strings.LastIndex(all, n.prompt()) == strings.LastIndex(all, "wavex probe, turn ")
}

// stray matches requests that belong to no turn.
func stray(r *fakeapi.Request) bool { return !strings.Contains(r.Users(), "wavex probe, turn ") }

// listPrice is the list price of model: dollars per million tokens.
var listPrice = fakeapi.Price{Input: 3 * budget.Dollar, Output: 15 * budget.Dollar}

// These are the usages of scripted responses. No two different sums of them are equal.
var (
	toolUse   = fakeapi.Usage{Input: 1000, Output: 211}
	wordsUse  = fakeapi.Usage{Input: 2000, Output: 307}
	plainUse  = fakeapi.Usage{Input: 3000, Output: 401}
	stopUse   = fakeapi.Usage{Input: 4000, Output: 503}
	cappedUse = fakeapi.Usage{Input: 1000, Output: 600}
)

// capUSD allows a second response to begin and no third: a response of cappedUse costs two thirds
// of it. It is less than the cost of the turns before resumedTurn.
var (
	cappedCost = listPrice.Cost(cappedUse)
	capUSD     = cappedCost * 3 / 2
)

// capTries bounds the responses of a process that ignores its cap.
const capTries = 4

// These are the costs of the turns of work.
var (
	toolCost  = toolCalls*listPrice.Cost(toolUse) + listPrice.Cost(wordsUse)
	stopCost  = listPrice.Cost(stopUse)
	plainCost = listPrice.Cost(plainUse)
)

// toolCalls is the number of responses of toolTurn that use a tool.
const toolCalls = 5

// script returns the script of the API.
func script(r room) fakeapi.Script {
	use := func(t fakeapi.Tool) fakeapi.Reply { return fakeapi.Use(t).Costing(toolUse) }
	again := fakeapi.Use(fakeapi.Read(filepath.Join(r.project, "read.txt"))).Costing(cappedUse)
	done := fakeapi.Text("done")
	capped := []fakeapi.Reply{again.Times(capTries - 1)}
	last := done.Costing(cappedUse)
	answer := fakeapi.Use(fakeapi.StructuredOutput(map[string]any{"word": "yes"}))
	never := done.Held(fakeapi.NewGate())
	return fakeapi.Script{Agents: []*fakeapi.Agent{
		{When: toolTurn.asked, Then: &done, Steps: []fakeapi.Reply{
			use(fakeapi.Bash(allowedCommand)), use(fakeapi.Bash(longerCommand)), use(fakeapi.Bash(otherCommand)),
			use(fakeapi.Write(filepath.Join(r.project, "written.txt"), "words\n")),
			use(fakeapi.Write(filepath.Join(r.outside, "written.txt"), "words\n")),
			fakeapi.Text("done").Costing(wordsUse),
		}},
		{When: plainTurn.asked, Then: &done, Steps: []fakeapi.Reply{fakeapi.Text("done").Costing(plainUse)}},
		{When: interruptedTurn.asked, Then: &never, Steps: []fakeapi.Reply{
			fakeapi.Use(fakeapi.Read(filepath.Join(r.project, "read.txt"))).Costing(stopUse)}},
		{When: resumedTurn.asked, Then: &last, Steps: capped},
		{When: cappedTurn.asked, Then: &last, Steps: capped},
		{When: schemaTurn.asked, Then: &done, Steps: []fakeapi.Reply{answer}},
		{When: takenTurn.asked, Then: &never},
		{When: taskTurn.asked, Then: &never},
		{When: sectionsTurn.asked, Then: &never},
		{Then: &done},
	}}
}
