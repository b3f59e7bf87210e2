package runner

// late is a record whose file is created on the first write: most commands of a large plan print
// nothing.
type late struct {
	*Agent
	dir, name string
	rec       *record
	err       error // of creating the file; all later writes are dropped
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
