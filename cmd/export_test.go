package cmd

import "time"

// SetAnswerWait bounds how long a program may take to print its version or a state.
func SetAnswerWait(d time.Duration) { answerWait = d }
