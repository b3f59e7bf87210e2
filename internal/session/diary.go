package session

import (
	"fmt"
	"os"
	"path/filepath"

	"wavex/internal/track"
)

// This file wires the tracking directory of a loop: what it tells agents, and what a run
// notes there.

// contextFile is where a run's context is, or will be; "" without a tracking directory.
func contextFile(dir string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, track.ContextFile)
}

// tracked is the context file for a prompt, and what stands in it. It is read for each
// attempt: people and the run go on writing.
func tracked(dir string) (path, notes string) {
	if dir == "" {
		return "", ""
	}
	text, err := track.Read(dir)
	if err != nil || text == "" {
		return "", "" // an agent cannot do better than we
	}
	return contextFile(dir), track.Excerpt(text, contextBytes)
}

// contextBytes bounds the context in a prompt.
const contextBytes = 8 << 10

// diary starts to note deviations and interventions; nil without a tracking directory.
func (r *Session) diary() (d *track.Diary, written func()) {
	if r.config.Track == "" {
		return nil, func() {}
	}
	if st, err := os.Stat(r.config.Track); err != nil || !st.IsDir() {
		fmt.Fprintf(r.opts.Err, "wavex: warning: the tracking directory %s is gone\n", r.config.Track)
		return nil, func() {}
	}
	d = track.NewDiary(r.config.Track, r.opts.Secrets.Bytes)
	return d, func() {
		if err := d.Close(); err != nil {
			fmt.Fprintln(r.opts.Err, "wavex: warning: notes of the run are missing in its tracking directory:", err)
		}
	}
}
