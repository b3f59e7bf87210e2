package runner

// lazyFile is a record whose file is created on the first write: most commands of a large plan print
// nothing.
type lazyFile struct {
	*Agent
	dir, name string
	log       *logFile
	err       error // of creating the file; all later writes are dropped
}

func (l *lazyFile) Write(b []byte) (int, error) {
	if l.log == nil && l.err == nil {
		l.log, l.err = l.createLog(l.dir, l.name)
	}
	if l.err != nil {
		return 0, l.err
	}
	return l.log.Write(b)
}

func (l *lazyFile) close() {
	if l.log != nil {
		l.log.close()
	}
}
