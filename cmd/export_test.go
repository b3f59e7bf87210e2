package cmd

import "time"

// SetAnswerTimeout bounds how long a program may take to print its version or a state.
func SetAnswerTimeout(d time.Duration) { answerTimeout = d }
