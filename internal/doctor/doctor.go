// Package doctor checks the requirements of a run before it starts: the CLI, its login,
// permissions, the project's folder, memory, the run lock. Each check is a function of its
// arguments; it changes nothing, writes nothing and reads no secret. Package plan checks the plan
// itself, and the command line chooses the exit code.
package doctor

// Status is the outcome of a check.
type Status string

// The statuses. Only Fail means that a run is not worth starting.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Check is the result of one check.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"` // advice for a person; "" if there is nothing to do
}

func okCheck(name, text string) Check        { return Check{Name: name, Status: OK, Text: text} }
func warnCheck(name, text, fix string) Check { return Check{name, Warn, text, fix} }
func failCheck(name, text, fix string) Check { return Check{name, Fail, text, fix} }

// Worst returns the worst status among checks, OK if there are none.
func Worst(checks []Check) Status {
	worst := OK
	for _, c := range checks {
		if c.Status == Fail || c.Status == Warn && worst == OK {
			worst = c.Status
		}
	}
	return worst
}
