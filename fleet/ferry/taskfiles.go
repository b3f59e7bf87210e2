package ferry

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"wavex/internal/loop"
	"wavex/internal/safefile"
	"wavex/runner"
)

// This file lists the files of a task that travel with its attempts. The first part of a name is the kind of the file.

// These are the kinds of files.
const (
	kindAttempt = "attempt" // log files of the attempt
	kindTask    = "task"    // digests from before and after attempts
	kindChecks  = "checks"  // listings and old contents, which the digests name
)

// Outputs is the kind of large structured results: that of the attempt, and those that its request names.
const Outputs = "outputs"

// maxDigests bounds the files of kindTask, in bytes.
const maxDigests = 64 << 20

// Dirs returns the directories for the files of an attempt by their kinds, for Unpack. The request has the paths of
// this machine.
func Dirs(req *runner.Request) map[string]string {
	dirs := map[string]string{kindAttempt: req.LogDir, kindTask: filepath.Dir(req.Baseline)}
	if req.Trees != nil {
		dirs[kindChecks] = req.Trees.Store
	}
	if req.Output != nil {
		dirs[Outputs] = req.Output.Dir
	}
	return dirs
}

// TaskFiles returns the files that an attempt finds of earlier ones at its task, for Pack: digests, and the old
// versions that they name.
func TaskFiles(req *runner.Request) (map[string]string, error) {
	files := map[string]string{}
	dir := filepath.Dir(req.Baseline)
	names, err := filesIn(dir)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	base := strings.TrimSuffix(loop.Digests, ".json") + "."
	for _, name := range names {
		if !strings.HasPrefix(name, base) && name != loop.FinalState {
			continue
		}
		path := filepath.Join(dir, name)
		data, err := safefile.Read(path, maxDigests)
		if err != nil {
			return nil, err
		}
		files[kindTask+"/"+name] = path
		text.Write(data)
	}
	if req.Trees == nil || text.Len() == 0 {
		return files, nil
	}
	old, err := filesIn(req.Trees.Store)
	for _, name := range old {
		if strings.Contains(text.String(), strings.TrimPrefix(name, "tree-")) {
			files[kindChecks+"/"+name] = filepath.Join(req.Trees.Store, name)
		}
	}
	return files, err
}

// filesIn returns the names of the regular files in a directory, which may be missing.
func filesIn(dir string) (names []string, err error) {
	entries, err := safefile.ReadDir(dir)
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}

// AttemptFiles returns the files that an attempt has left, for Pack: its log files, those of TaskFiles, and its large
// structured result.
func AttemptFiles(req *runner.Request, output *runner.Output) (map[string]string, error) {
	files, err := TaskFiles(req)
	if err != nil {
		return nil, err
	}
	logs, err := filesIn(req.LogDir)
	if err != nil {
		return nil, err
	}
	for _, name := range logs {
		files[kindAttempt+"/"+name] = filepath.Join(req.LogDir, name)
	}
	if req.Output != nil && output != nil && output.Digest != "" {
		name := output.Digest + ".json"
		files[Outputs+"/"+name] = filepath.Join(req.Output.Dir, name)
	}
	return files, nil
}
