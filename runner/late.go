package runner

// late is a record that is made with its first byte: most commands of a large plan
// print nothing.
type late struct {
	*Agent
	dir, name string
	rec       *record
	err       error // of making the file: nothing is kept then
}

func (l *late) Write(b []byte) (int, error) {
	if l.rec == nil && l.err == nil {
		l.rec, l.err = l.create(l.dir, l.name)
	}
	if l.err != nil {
		return 0, l.err
	}
	return l.rec.Write(b)
}

func (l *late) close() {
	if l.rec != nil {
		l.rec.close()
	}
}
