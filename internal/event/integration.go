package event

import "wavex/runner"

// IntegrationStarted begins to combine the work of verified tasks.
type IntegrationStarted struct {
	Wave  int      `json:"wave"`
	Tasks []string `json:"tasks"` // verified, in plan order
}

// IntegrationEnded is one decision: the tasks whose work is integrated, and those that are
// reopened. An interrupted integration is repeated.
type IntegrationEnded struct {
	Wave      int      `json:"wave"`
	Commit    string   `json:"commit,omitempty"` // of the integrated tree
	Completed []string `json:"completed"`
	// Commits are the commits of the completed tasks on the delivered branch, by task.
	Commits  map[string]string `json:"commits,omitempty"`
	Reopened []Reopened        `json:"reopened,omitempty"`
	// Users are tasks that run again because they used the output of a reopened task, directly or not.
	Users []string `json:"users,omitzero"`
	Note  string   `json:"note,omitempty"`
	Stop  *Stop    `json:"stop,omitempty"`
}

// Reopened is a task whose work failed together with the rest.
type Reopened struct {
	Task    string        `json:"task"`
	Kind    string        `json:"kind"` // "conflict", "red", "deletes"
	Result  runner.Result `json:"result"`
	Status  Status        `json:"status"`
	Stuck   int           `json:"stuck"`
	Blocked []string      `json:"blocked,omitempty"`
	// TaskStop is the breaker that stopped the task, as in AttemptEnded.
	TaskStop *Stop `json:"task_stop,omitempty"`
}

// Note says why the task goes back.
func (r *Reopened) Note() string {
	return "sent back by the integration (" + r.Kind + "): " + r.Result.Reason
}

// DeliveryStarted begins the delivery of the integrated tree, the last step before the end.
type DeliveryStarted struct {
	Complete bool `json:"complete"`
}

// DeliveryEnded says where the delivered work is.
type DeliveryEnded struct {
	How     string `json:"how"` // "ff", "branch", "push", "pr", "none"; "patch" in older journals
	Ref     string `json:"ref,omitempty"`
	Commit  string `json:"commit,omitempty"`
	Command string `json:"command,omitempty"` // with which the user takes over the work; "": none
	Why     string `json:"why,omitempty"`
	// Failed means that the work is not at the requested place: the run is not over.
	Failed bool `json:"failed,omitempty"`
}

func (IntegrationStarted) Type() string { return "integration_started" }
func (IntegrationEnded) Type() string   { return "integration_ended" }
func (DeliveryStarted) Type() string    { return "delivery_started" }
func (DeliveryEnded) Type() string      { return "delivery_ended" }
