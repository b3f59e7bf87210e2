package statement

import (
	"path/filepath"
	"strconv"
	"strings"

	"wavex/budget"
	"wavex/internal/fakeapi"
)

// scriptedTurn is a turn of a scripted conversation. Its requests are recognised by its prompt.
type scriptedTurn int

const (
	toolTurn scriptedTurn = iota + 1
	plainTurn
	cappedTurn
)

// prompt returns the text that begins a turn.
func (n scriptedTurn) prompt() string { return "wavex probe, turn " + strconv.Itoa(int(n)) + "." }

// matches matches the requests of a turn. A session also contains the prompts of earlier turns.
func (n scriptedTurn) matches(r *fakeapi.Request) bool {
	all := r.Users()
	return strings.LastIndex(all, n.prompt()) > -1 &&
		strings.LastIndex(all, n.prompt()) == strings.LastIndex(all, "wavex probe, turn ")
}

// listPrice is the list price of model: dollars per million tokens.
var listPrice = fakeapi.Price{Input: 3 * budget.Dollar, Output: 15 * budget.Dollar}

// These are the usages of scripted responses. No two different sums of them are equal.
var (
	toolUse   = fakeapi.Usage{Input: 1000, Output: 211}
	wordsUse  = fakeapi.Usage{Input: 2000, Output: 307}
	plainUse  = fakeapi.Usage{Input: 3000, Output: 401}
	cappedUse = fakeapi.Usage{Input: 1000, Output: 600}
)

// capUSD allows a second response to begin and no third: a response of cappedUse costs two thirds
// of it.
var (
	cappedCost = listPrice.Cost(cappedUse)
	capUSD     = cappedCost * 3 / 2
)

// capTries bounds the responses of a process that ignores its cap.
const capTries = 4

// These are the costs of turns.
var (
	toolCost  = toolCalls*listPrice.Cost(toolUse) + listPrice.Cost(wordsUse)
	plainCost = listPrice.Cost(plainUse)
)

// toolCalls is the number of responses of toolTurn that use a tool.
const toolCalls = 3

// script returns the script of the API.
func script(r sandbox) fakeapi.Script {
	use := func(t fakeapi.Tool) fakeapi.Reply { return fakeapi.Use(t).WithUsage(toolUse) }
	again := fakeapi.Use(fakeapi.Read(filepath.Join(r.project, "read.txt"))).WithUsage(cappedUse)
	done := fakeapi.Text("done")
	last := done.WithUsage(cappedUse)
	return fakeapi.Script{Agents: []*fakeapi.Agent{
		{When: toolTurn.matches, Then: &done, Steps: []fakeapi.Reply{
			use(fakeapi.Bash(longerCommand)), use(fakeapi.Bash(otherCommand)),
			use(fakeapi.Write(filepath.Join(r.outside, "written.txt"), "words\n")),
			fakeapi.Text("done").WithUsage(wordsUse),
		}},
		{When: plainTurn.matches, Then: &done, Steps: []fakeapi.Reply{fakeapi.Text("done").WithUsage(plainUse)}},
		{When: cappedTurn.matches, Then: &last, Steps: []fakeapi.Reply{again.Times(capTries - 1)}},
		{Then: &done},
	}}
}
