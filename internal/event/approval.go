package event

// Asked opens a gate: a person is asked whether to go on.
type Asked struct {
	Gate string `json:"gate"` // "G2", "G3" or "retry"
	Task string `json:"task,omitempty"`
	Wave int    `json:"wave,omitempty"` // the completed wave
	Text string `json:"text"`           // the question
}

// Answered closes the gate. It records the answer and its consequences.
type Answered struct {
	Gate    string   `json:"gate"`
	Task    string   `json:"task,omitempty"`
	Wave    int      `json:"wave,omitempty"`
	Yes     bool     `json:"yes"`
	Blocked []string `json:"blocked,omitempty"` // tasks that can no longer start, because a retry was refused
	Stop    *Stop    `json:"stop,omitempty"`
}

func (Asked) Type() string    { return "asked" }
func (Answered) Type() string { return "answered" }
