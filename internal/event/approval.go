package event

// Gate is a point at which a person is asked whether to go on.
type Gate string

// These are the gates of a run.
const (
	GateG2    Gate = "G2"    // after a task or a wave
	GateG3    Gate = "G3"    // before the end
	GateRetry Gate = "retry" // before the retry of a task
)

// Asked opens a gate: a person is asked whether to go on.
type Asked struct {
	Gate Gate   `json:"gate"`
	Task string `json:"task,omitempty"`
	Wave int    `json:"wave,omitempty"` // the completed wave
	Text string `json:"text"`           // the question
}

// Answered closes the gate. It records the answer and its consequences.
type Answered struct {
	Gate    Gate     `json:"gate"`
	Task    string   `json:"task,omitempty"`
	Wave    int      `json:"wave,omitempty"`
	Yes     bool     `json:"yes"`
	Blocked []string `json:"blocked,omitempty"` // tasks that can no longer start, because a retry was refused
	Stop    *Stop    `json:"stop,omitempty"`
}

func (Asked) Type() string    { return "asked" }
func (Answered) Type() string { return "answered" }
