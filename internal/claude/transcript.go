package claude

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"strings"
	"time"

	"wavex/internal/jsonobject"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// reportMax bounds the agent's last message in a Result, in bytes.
const reportMax = 4 << 10

// transcript holds the parsed facts of a stream; classify.go decides on them. Field names and types are as
// observed on claude 2.1.330; a field that is missing or has another type reads as zero.
type transcript struct {
	observe      func(kind, text string) // for displays; may be nil
	onTurn       func(turnEvent)         // receives the turns; may be nil. It may block.
	requestUsage func()                  // sends usageLine to the CLI; may be nil. It must not block.

	calls *toolCalls // nil: the process has no tools

	responses    responses
	account      account
	usagePending bool // an answer to usageLine is outstanding
	usageStale   bool // that answer will be out of date: ask again

	lines     int    // JSON objects that were parsed
	strayLine string // the first line that is not JSON: plain text of the CLI
	session   string
	init      sessionInit
	clearing  bool // the next result line answers /clear (see sharedType)
	edits     map[string]int
	last      lastMessage
	retries   retries
	limit     limit
	notional  bool // a subscription login
	result    *resultLine
	results   int
	badResult bool // the last result line could not be read
	seenIDs   map[uint64]struct{}
	seed      maphash.Seed
}

// sessionInit holds the session's init line.
type sessionInit struct {
	seen           bool
	version, model string // of the CLI, and of the session
	tools          []string
}

// lastMessage holds the last facts of each kind in the messages of the agent.
type lastMessage struct {
	text    string // bounded
	offered []byte // the value that the agent gave as its structured result
	err     string // the kind of error of the last message: "rate_limit", "billing_error", ...
}

// turnEvent is an event that the reader sends when a turn of the agent begins or ends.
type turnEvent int

const (
	turnResumed turnEvent = iota // a turn began after a result line, for example because a background command ended
	turnOver                     // a result line ended the turn
	turnPaused                   // a result line ended the turn while background tasks of the agent ran
)

// retries holds the API retries that the CLI reported.
type retries struct {
	count  int
	status int    // of the last retry; 0: no HTTP answer (network)
	kind   string // "rate_limit", "overloaded", "server_error", ...
	delay  time.Duration
}

// limit holds the last rate_limit_event.
type limit struct {
	status   string // "allowed", "allowed_warning", "rejected"
	resetsAt time.Time
	window   string  // "five_hour", "seven_day", ...
	used     float64 // utilization, 0 to 1; 0 if not reported
}

// onLine parses one line. cut reports that long strings in it were shortened.
func (f *transcript) onLine(line []byte, cut bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		f.onStrayLine(line)
		return
	}
	o := jsonobject.Value(line)
	kind, ok := lineType(line)
	if !ok {
		kind = o.Get("type").Text()
	}
	if kind == "result" {
		f.onResult(o, line, cut)
		return
	}
	if kind == "" && !jsonobject.Value(line).IsValid() {
		f.onStrayLine(line)
		return
	}
	switch kind {
	case "control_response":
		if r := o.Get("response"); f.calls != nil && r.Get("request_id").Text() == initializeID {
			f.calls.onInitialized(r)
		} else {
			f.onUsage(r)
		}
		return
	case "control_request":
		if f.calls != nil {
			f.calls.onRequest(o, cut)
		}
		return
	case "control_cancel_request":
		if f.calls != nil {
			f.calls.onCancelled(o.Get("request_id").Text())
		}
		return
	case sharedType:
		f.clearing = f.lines == 0 && f.results == 0 && o.Get("clear").Bool()
		return
	}
	f.lines++
	switch kind {
	case "assistant":
		f.onAssistant(o)
	case "user":
		f.responses.hold(o)
		if f.calls != nil {
			f.calls.onResult(o)
		}
	case "system":
		f.onSystem(o)
	case "stream_event":
		f.onEvent(o)
	case "rate_limit_event":
		f.onLimit(o.Get("rate_limit_info"))
	}
}

func (f *transcript) onStrayLine(line []byte) {
	if f.strayLine == "" {
		f.strayLine = textfmt.OneLine(string(line), 300)
	}
}

func (f *transcript) onSystem(o jsonobject.Value) {
	switch o.Get("subtype").Text() {
	case "init":
		f.init = sessionInit{seen: true, version: o.Get("claude_code_version").Text(),
			model: o.Get("model").Text()}
		for _, tool := range o.Get("tools").Members() {
			f.init.tools = append(f.init.tools, tool.Text())
		}
		f.session = o.Get("session_id").Text()
		if f.calls != nil {
			f.calls.onInit(o)
		}
		f.onWork()
		f.report("init", "claude "+f.init.version+", "+f.init.model)
	case "api_retry":
		f.retries.count++
		f.retries.status = int(o.Get("error_status").Int())
		f.retries.kind = o.Get("error").Text()
		f.retries.delay = time.Duration(o.Get("retry_delay_ms").Float() * float64(time.Millisecond))
		f.report("api_retry", strings.TrimSpace(string(o.Get("error_status"))+" "+f.retries.kind))
	case "task_progress", "task_notification", "compact_boundary":
		f.askUsage() // responses of subagents are not in the stream
	}
}

// onEvent handles a stream_event of an API response (--include-partial-messages).
func (f *transcript) onEvent(o jsonobject.Value) {
	who, e := o.Get("parent_tool_use_id").Text(), o.Get("event")
	switch e.Get("type").Text() {
	case "message_start":
		f.onWork()
		if m := e.Get("message"); f.isNew("m", m.Get("id").Text()) {
			f.responses.start(who, m.Get("model").Text(), m.Get("usage"))
		}
	case "message_delta":
		f.responses.finish(who, e.Get("usage"))
	}
}

func (f *transcript) onLimit(o jsonobject.Value) {
	f.notional = true
	f.limit = limit{
		status: o.Get("status").Text(),
		window: o.Get("rateLimitType").Text(),
		used:   o.Get("utilization").Float(),
	}
	if at := o.Get("resetsAt").Int(); at > 0 {
		f.limit.resetsAt = time.Unix(at, 0).UTC()
	}
	f.report("rate_limit", f.limit.status+" "+f.limit.window)
}

func (f *transcript) onAssistant(o jsonobject.Value) {
	f.onWork()
	inner := o.Get("parent_tool_use_id").Text() != "" // a subagent's message
	f.last.err = o.Get("error").Text()
	message := o.Get("message")
	id, model, usage := message.Get("id").Text(), message.Get("model").Text(), message.Get("usage")
	if model != "<synthetic>" && usage.Kind() == '{' && f.isNew("m", id) {
		f.responses.addWhole(model, usage, inner)
	}
	if inner {
		f.askUsage()
	}
	for _, block := range message.Get("content").Members() {
		switch block.Get("type").Text() {
		case "tool_use":
			f.onTool(block, id)
		case "text":
			if text := block.Get("text").Text(); !inner && strings.TrimSpace(text) != "" {
				f.last.text = textfmt.ExcerptOf(text, reportMax)
				f.report("text", text)
			}
		}
	}
}

// outputTool is the tool by which an agent gives its structured result.
const outputTool = "StructuredOutput"

func (f *transcript) onTool(block jsonobject.Value, message string) {
	if !f.isNew("t", block.Get("id").Text()) {
		return
	}
	name, input := block.Get("name").Text(), block.Get("input")
	if f.calls != nil {
		f.calls.onUse(block.Get("id").Text(), name, message, input)
	}
	if name == outputTool {
		f.last.offered = nil
		if len(input) <= runner.MaxOutput {
			f.last.offered = bytes.Clone(input)
		}
	}
	path := cmp.Or(input.Get("file_path").Text(), input.Get("notebook_path").Text())
	if toolKind(name) == runner.EditTool && path != "" && len(path) < 4096 {
		if f.edits == nil {
			f.edits = map[string]int{}
		}
		f.edits[path]++
	}
	target := path
	for _, k := range []string{"command", "pattern", "url", "query", "description"} {
		target = cmp.Or(target, input.Get(k).Text())
	}
	f.report("tool", name+" "+target)
}

// onWork reports that the agent works on after a result line, for example because one of its
// background commands ended.
func (f *transcript) onWork() {
	if f.results > 0 && f.onTurn != nil {
		f.onTurn(turnResumed)
	}
}

// isNew reports whether an id of a kind is new. It stores hashes, because a stream may have a
// million ids. A line without an id is always new.
func (f *transcript) isNew(kind, id string) bool {
	if id == "" {
		return true
	}
	if f.seenIDs == nil {
		f.seenIDs, f.seed = map[uint64]struct{}{}, maphash.MakeSeed()
	}
	h := maphash.String(f.seed, kind+id)
	if _, seen := f.seenIDs[h]; seen {
		return false
	}
	f.seenIDs[h] = struct{}{}
	return true
}

func (f *transcript) report(kind, text string) {
	if f.observe != nil {
		f.observe(kind, textfmt.OneLine(text[:min(len(text), 1<<10)], 200))
	}
}
