package event

import "time"

// Activity is one piece of work that has begun and not ended.
type Activity struct {
	Task, Subject string // Task is "" for work of the whole run; Subject is its active title
	Kind          string // "attempt", "counsel", "review", "criteria", "integration", "delivery"
	Attempt       int
	Since         time.Time
	Last          string    // the last sign of life
	At            time.Time // time of Last
	Worker        string    // the worker that makes the attempt; "": this machine
}
