// Package question puts tool calls to a person: at the terminal, or through files that other processes, such as the
// live page and `wavex mcp`, read and answer. It knows no rule and no protocol of an agent.
package question

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"wavex/internal/policy"
	"wavex/internal/safefile"
)

// Choice is an answer to a question.
type Choice string

// The values of Choice.
const (
	Once   Choice = "once"   // this call may run
	Run    Choice = "run"    // so may all calls of the pattern in this run
	Always Choice = "always" // and in later runs of the user
	No     Choice = "no"     // the call is denied
)

// Choices lists the values of Choice.
var Choices = []Choice{Once, Run, Always, No}

// Question is a call that waits for a person.
type Question struct {
	ID string `json:"id"`
	policy.Question
	Asked    time.Time `json:"asked"`
	Deadline time.Time `json:"deadline"` // then the call is denied
}

// Answer is the answer to a question.
type Answer struct {
	Choice Choice `json:"choice"`
	By     string `json:"by,omitempty"` // "terminal", "mcp", ...
}

// AnsweredError says that a question has an answer.
type AnsweredError struct{ Answer Answer }

func (e *AnsweredError) Error() string {
	return fmt.Sprintf("the answer is %s, by %s", e.Answer.Choice, cmp.Or(e.Answer.By, "another process"))
}

// Dir is the directory of the questions of a run. It need not exist.
type Dir string

// The suffixes of the files of a question, behind its id, the lock of those who watch for questions, and the lock of
// those who write answers.
const (
	questionSuffix = ".json"
	answerSuffix   = ".answer.json"
	watchersFile   = "watchers"
	lockFile       = "lock"
	maxFile        = 1 << 20 // bytes
)

// ErrClosed reports that a question has an answer, or no time is left for one.
var ErrClosed = errors.New("the question is not open")

// Open returns the questions that have no answer, the oldest first.
func (d Dir) Open(now time.Time) ([]Question, error) {
	all, err := d.all()
	return slices.DeleteFunc(all, func(q Question) bool {
		_, answered := d.Answered(q.ID)
		return answered || !now.Before(q.Deadline)
	}), err
}

// Answer answers an open question. The first answer counts.
func (d Dir) Answer(id string, a Answer, now time.Time) error {
	if !slices.Contains(Choices, a.Choice) {
		return fmt.Errorf("%q is no answer; it is one of %v", a.Choice, Choices)
	}
	open, err := d.Open(now)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(open, func(q Question) bool { return q.ID == id }) {
		return fmt.Errorf("%s: %w", id, ErrClosed)
	}
	return d.write(id, a)
}

// Watch tells the run that a person is there to answer, until release is called.
func (d Dir) Watch() (release func(), err error) {
	if err := safefile.MkdirAll(string(d), 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(string(d), watchersFile)
	if err := safefile.CheckPath(path); err != nil {
		return nil, err
	}
	l := flock.New(path)
	if err := l.RLock(); err != nil {
		return nil, err
	}
	return func() { _ = l.Close() }, nil
}

// isWatched reports whether a process watches for questions.
func (d Dir) isWatched() bool {
	path := filepath.Join(string(d), watchersFile)
	if safefile.CheckPath(path) != nil {
		return false
	}
	l := flock.New(path)
	free, err := l.TryLock()
	_ = l.Close()
	return err == nil && !free
}

// all returns all questions, the oldest first.
func (d Dir) all() (list []Question, err error) {
	entries, err := safefile.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		id, is := strings.CutSuffix(e.Name(), questionSuffix)
		if !is || strings.HasSuffix(e.Name(), answerSuffix) {
			continue
		}
		var q Question
		text, readErr := safefile.Read(filepath.Join(string(d), e.Name()), maxFile)
		if readErr == nil && json.Unmarshal(text, &q) == nil && q.ID == id {
			list = append(list, q)
		}
	}
	slices.SortFunc(list, func(a, b Question) int { return cmp.Compare(number(a.ID), number(b.ID)) })
	return list, err
}

// number returns the number in an id.
func number(id string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "q"))
	return n
}

// Answered returns the answer to a question, if it has one.
func (d Dir) Answered(id string) (a Answer, ok bool) {
	text, err := safefile.Read(filepath.Join(string(d), id+answerSuffix), maxFile)
	return a, err == nil && json.Unmarshal(text, &a) == nil && slices.Contains(Choices, a.Choice)
}

// settle records an answer and returns it, or the one that was recorded before.
func (d Dir) settle(id string, a Answer) Answer {
	if errors.Is(d.write(id, a), ErrClosed) {
		a, _ = d.Answered(id)
	}
	return a
}

// write records an answer if there is none. A reader sees all of it or nothing.
func (d Dir) write(id string, a Answer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	path := filepath.Join(string(d), lockFile)
	if err := safefile.CheckPath(path); err != nil {
		return err
	}
	l := flock.New(path)
	if err := l.Lock(); err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	if _, ok := d.Answered(id); ok {
		return fmt.Errorf("%s: %w", id, ErrClosed)
	}
	return safefile.Replace(filepath.Join(string(d), id+answerSuffix), append(text, '\n'), 0o600, false)
}
