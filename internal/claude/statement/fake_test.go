package statement

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// fake is a CLI that satisfies all statements but one: its lie. It is this test binary in another
// process.
type fake struct {
	falseStatement string
	flags          map[string]string
	dir            string
	messages       []object
	spent          float64 // dollars
	denials        []object
}

type object = map[string]any

// lies reports whether the fake breaks a statement.
func (f *fake) lies(id ID) bool { return f.falseStatement == string(id) }

func (f *fake) print(v object) {
	data, _ := json.Marshal(v)
	fmt.Println(string(data))
}

// fakeCLI is the fake's main function.
func fakeCLI(args []string) int {
	f := &fake{falseStatement: args[0], flags: map[string]string{}}
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
	for scan := bufio.NewScanner(os.Stdin); scan.Scan(); {
		var v object
		if json.Unmarshal(scan.Bytes(), &v) == nil {
			f.turn(v["message"].(object)["content"].(string))
		}
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

// turn answers a prompt.
func (f *fake) turn(prompt string) {
	tools := []string{"Bash", "Edit", "Read"}
	if f.falseStatement != "bare" {
		tools = append(tools, "Write")
	}
	f.print(object{"type": "system", "subtype": "init", "tools": tools})
	f.messages = append(f.messages, object{"role": "user", "content": prompt})
	before, subtype := f.spent, "success"
	f.denials = nil
	for {
		reply, err := f.ask(f.messages)
		if err != nil {
			break
		}
		f.charge(reply)
		f.messages = append(f.messages, object{"role": "assistant", "content": reply["content"]})
		if limit := f.flags["--max-budget-usd"]; limit != "" && !f.lies(Cap) {
			var most float64
			_, _ = fmt.Sscan(limit, &most)
			if f.spent >= most {
				subtype = "error_max_budget_usd"
				break
			}
		}
		results := f.tools(reply["content"].([]any))
		if len(results) == 0 {
			break
		}
		f.messages = append(f.messages, object{"role": "user", "content": results})
	}
	f.result(subtype, f.spent-before)
}

// result prints the line that ends a turn.
func (f *fake) result(subtype string, cost float64) {
	total := f.spent
	if f.lies(TotalCost) {
		total = 0
	}
	line := object{"type": "result", "subtype": subtype, "total_cost_usd": total, "permission_denials": f.denials,
		"model_usage_since_last_result": object{model: object{"costUSD": cost}}}
	if f.lies(TurnCost) {
		delete(line, "model_usage_since_last_result")
	}
	f.print(line)
}
