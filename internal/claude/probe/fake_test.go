package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"wavex/internal/claude/statement"
)

// fake is a CLI that satisfies all statements but one: its lie. It is this test binary in another
// process.
type fake struct {
	falseStatement string
	flags          map[string]string
	dir            string
	session        string
	messages       []object
	system         string
	total          float64 // dollars, of the session
	spent          float64 // dollars, of the process
	in             chan object
	denials        []object
}

type object = map[string]any

// lies reports whether the fake breaks a statement.
func (f *fake) lies(id statement.ID) bool { return f.falseStatement == string(id) }

func (f *fake) print(v object) {
	data, _ := json.Marshal(v)
	fmt.Println(string(data))
}

// fakeCLI is the fake's main function.
func fakeCLI(args []string) int {
	f := &fake{falseStatement: args[0], flags: map[string]string{}, in: make(chan object)}
	for i := 1; i < len(args); i++ {
		if i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			f.flags[args[i]] = args[i+1]
			i++
			continue
		}
		f.flags[args[i]] = ""
	}
	f.dir, _ = os.Getwd()
	if code, ends := f.misbehaves(); ends {
		return code
	}
	if code, ends := f.open(); ends {
		return code
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		if f.lies(statement.EndsOnTerm) {
			os.Exit(7)
		}
		os.Exit(143)
	}()
	go f.read()
	for v := range f.in {
		if v["type"] == "control_request" {
			f.print(object{"type": "control_response", "response": object{"subtype": "success", "request_id": v["request_id"]}})
			continue
		}
		if code, ends := f.turn(v["message"].(object)["content"].(string)); ends {
			return code
		}
	}
	if f.lies(statement.EndsWithStdin) {
		return 3
	}
	return 0
}

// misbehaves plays the lies hang, garbage and login.
func (f *fake) misbehaves() (code int, ends bool) {
	switch f.falseStatement {
	case "hang":
		<-time.After(time.Hour) // a bare select would be a deadlock for the runtime
	case "garbage":
		fmt.Println("hello")
		fmt.Println(`{"type":`)
		return 0, true
	case "login":
		fmt.Fprintln(os.Stderr, "Invalid API key · Please run /login")
		return 1, true
	}
	return 0, false
}

// open opens or resumes a session.
func (f *fake) open() (code int, ends bool) {
	f.system = f.flags["--append-system-prompt"]
	f.session = f.flags["--session-id"]
	if f.falseStatement == "renames" && f.session != "" {
		f.session = "another"
	}
	if _, err := os.Stat(f.path()); f.session != "" && err == nil && !f.lies(statement.SessionID) {
		fmt.Fprintln(os.Stderr, "Error: Session ID "+f.session+" is already in use.")
		return 1, true
	}
	if resumed := f.flags["--resume"]; resumed != "" {
		f.session = resumed
		var kept struct {
			Messages []object
			Total    float64
		}
		data, err := os.ReadFile(f.path())
		if err != nil {
			return 1, true
		}
		_ = json.Unmarshal(data, &kept)
		if !f.lies(statement.Resume) {
			f.messages = kept.Messages
		}
		if f.lies(statement.ResumedTotal) {
			f.total = kept.Total
		}
		if f.lies(statement.ResumedCap) {
			f.spent = kept.Total
		}
	}
	return 0, false
}

func (f *fake) path() string {
	return filepath.Join(os.Getenv("CLAUDE_CONFIG_DIR"), "session-"+f.session)
}

func (f *fake) read() {
	defer close(f.in)
	for scan := bufio.NewScanner(os.Stdin); scan.Scan(); {
		var v object
		if json.Unmarshal(scan.Bytes(), &v) == nil {
			f.in <- v
		}
	}
}

// turn answers a prompt.
func (f *fake) turn(prompt string) (code int, ends bool) {
	servers := []object{}
	if _, strict := f.flags["--strict-mcp-config"]; !strict || f.lies(statement.StrictMCP) {
		servers = append(servers, object{"name": mcpServer})
	}
	f.print(object{"type": "system", "subtype": "init", "session_id": f.session, "mcp_servers": servers})
	f.messages = append(f.messages, object{"role": "user", "content": prompt})
	before, subtype, answer := f.spent, "success", any(nil)
	f.denials = nil
	for {
		reply, stopped := f.interruptible()
		if stopped {
			subtype = "error_during_execution"
			break
		}
		f.charge(reply)
		f.messages = append(f.messages, object{"role": "assistant", "content": reply["content"]})
		if limit := f.flags["--max-budget-usd"]; limit != "" && !f.lies(statement.Cap) {
			var most float64
			_, _ = fmt.Sscan(limit, &most)
			if f.spent >= most {
				subtype = "error_max_budget_usd"
				break
			}
		}
		results, structured := f.tools(reply["content"].([]any))
		if structured != nil {
			answer = structured
			break
		}
		if len(results) == 0 {
			break
		}
		f.messages = append(f.messages, object{"role": "user", "content": results})
	}
	if subtype == "error_during_execution" && f.lies(statement.Interrupt) || f.falseStatement == "ends" {
		return 1, true
	}
	f.result(subtype, f.spent-before, answer)
	data, _ := json.Marshal(object{"Messages": f.messages, "Total": f.total})
	_ = os.WriteFile(f.path(), data, 0o600)
	return 0, false
}

// result prints the line that ends a turn.
func (f *fake) result(subtype string, cost float64, answer any) {
	total := f.total
	if f.lies(statement.TotalCost) || f.lies(statement.InterruptedCost) && subtype == "error_during_execution" {
		total = 0
	}
	if f.lies(statement.DenialsReported) {
		f.denials = nil
	}
	line := object{"type": "result", "subtype": subtype, "total_cost_usd": total, "permission_denials": f.denials,
		"model_usage_since_last_result": object{model: object{"costUSD": cost}}}
	if f.lies(statement.TurnCost) || f.lies(statement.InterruptedCost) {
		delete(line, "model_usage_since_last_result")
	}
	if answer != nil && !f.lies(statement.JSONSchema) {
		line["structured_output"] = answer
	}
	f.print(line)
	if f.lies(statement.OneResult) && subtype == "success" {
		f.print(line)
	}
}

// interruptible asks the API, and reports whether an interrupt came first.
func (f *fake) interruptible() (reply object, stopped bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	got := make(chan object, 1)
	go func() {
		r, _ := f.ask(ctx, f.messages)
		got <- r
	}()
	for {
		select {
		case reply = <-got:
			return reply, reply == nil
		case v, more := <-f.in:
			if !more || v["type"] == "control_request" {
				return nil, true
			}
		}
	}
}
