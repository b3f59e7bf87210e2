// Package doctor looks at what a run will need, before it is needed: the CLI, its
// login, permissions, the project's folder, memory, the run lock. Each check is a
// plain function of what it is told; it changes nothing, writes nothing and reads no
// secret. What a plan says of itself is package plan's business, and which exit code
// follows is the command line's.
package doctor

// Status is how a check came out.
type Status string

// The statuses. Only Fail keeps a run from being worth starting.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Check is what one look showed.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"` // what a person can do; "" when there is nothing to do
}

func ok(name, text string) Check         { return Check{Name: name, Status: OK, Text: text} }
func warn(name, text, fix string) Check  { return Check{name, Warn, text, fix} }
func wrong(name, text, fix string) Check { return Check{name, Fail, text, fix} }

// Worst is the worst status among checks; OK when there are none.
func Worst(checks []Check) Status {
	worst := OK
	for _, c := range checks {
		if c.Status == Fail || c.Status == Warn && worst == OK {
			worst = c.Status
		}
	}
	return worst
}
