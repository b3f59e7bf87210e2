package run

import (
	"fmt"
	"os"
	"path/filepath"

	"wavex/internal/notes"
	"wavex/scheduler"
)

// This file connects the tracking directory of a loop: the notes that agents are shown, and the
// notes that a run adds.

// contextFile returns the path of a run's context file, which need not exist; "" without a tracking
// directory.
func contextFile(dir string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, notes.ContextFile)
}

// readContext returns the context file for a prompt, and its notes. It reads the file for each attempt,
// because people and the run write to it meanwhile.
func readContext(dir string) (path, excerpt string) {
	if dir == "" {
		return "", ""
	}
	text, err := notes.ReadContext(dir)
	if err != nil || text == "" {
		return "", "" // an agent could not read it either
	}
	return contextFile(dir), notes.Excerpt(text, maxContext)
}

// maxContext is the maximum size of the context in a prompt.
const maxContext = 8 << 10

// startNotes returns a View that notes deviations and interventions, or nil without a tracking
// directory. The caller must call written at the end.
func (r *Session) startNotes() (view scheduler.View, written func()) {
	if r.config.Track == "" {
		return nil, func() {}
	}
	if st, err := os.Stat(r.config.Track); err != nil || !st.IsDir() {
		fmt.Fprintf(r.opts.Err, "wavex: warning: the tracking directory %s is gone\n", r.config.Track)
		return nil, func() {}
	}
	d := notes.NewWriter(r.config.Track, r.opts.Redactor.Bytes)
	return d, func() {
		if err := d.Close(); err != nil {
			fmt.Fprintln(r.opts.Err, "wavex: warning: notes of the run are missing in its tracking directory:", err)
		}
	}
}
