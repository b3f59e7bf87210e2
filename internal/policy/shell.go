package policy

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// This file reads shell text: which simple commands it runs and in which directories, and which files it redirects to.
// It follows literal words, and variables that the text itself sets. It leaves the rest out.

// effect is one action of a command line: a simple command, a file that is written, or code of another language.
type effect struct {
	words []string // of a simple command; unknown parts are the text unknown
	path  string   // absolute; unknown parts and patterns of path.Match are possible
	tree  bool     // all below path is written or deleted too
	enter entry    // path is a pattern for entries that come into its directory; tree and the directory do not count
	code  string   // of a program in another language
	dir   string   // for code: the directory in which it runs, or ""
}

// entry says when files of unknown names come into a directory.
type entry int

// These are the values of effect.enter.
const (
	never     entry = iota
	ifMissing       // the directory may become a copy of another, or a link to one, if it does not exist
	always
)

// unknown stands for the unknown part of a word.
const unknown = "\x00"

// These bound the work for one command line.
const (
	maxText     = 256 << 10 // bytes
	maxNested   = 6         // texts in texts, such as that of sh -c
	maxCommands = 5000
	maxVariable = 4 << 10 // bytes
	maxLoop     = 50      // words of a loop
)

// lookAt calls emit for each effect of a command line in a directory, as far as its text tells. env are variables that
// are known beside the text's own.
func lookAt(text, dir string, env map[string]string, emit func(effect)) {
	left := maxCommands
	s := &shell{dir: dir, vars: map[string]string{}, emit: emit, left: &left}
	for name, value := range env {
		s.vars[name] = value
	}
	s.text(text)
}

// shell is the state of a shell, as far as the text tells.
type shell struct {
	dir    string // absolute; "": unknown
	vars   map[string]string
	nested int
	left   *int // commands that may still be looked at
	emit   func(effect)
}

// child returns a copy of the state for a subshell.
func (s *shell) child() *shell {
	c := *s
	c.vars = make(map[string]string, len(s.vars))
	for name, value := range s.vars {
		c.vars[name] = value
	}
	return &c
}

// text looks at a text of its own.
func (s *shell) text(text string) {
	if s.nested >= maxNested || len(text) > maxText {
		return
	}
	// The parser and the expander are not ours; a text that breaks them tells nothing.
	defer func() { _ = recover() }()
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil && f == nil {
		return
	}
	s.nested++
	s.stmts(f.Stmts)
	s.nested--
}

func (s *shell) stmts(list []*syntax.Stmt) {
	for _, st := range list {
		s.stmt(st)
	}
}

func (s *shell) stmt(st *syntax.Stmt) {
	if *s.left--; *s.left < 0 || st == nil {
		return
	}
	input := ""
	for _, r := range st.Redirs {
		s.inner(r.Word, r.Hdoc)
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut:
			for _, w := range s.word(r.Word) {
				s.write(w, false)
			}
		case syntax.Hdoc, syntax.DashHdoc:
			input = strings.Join(s.word(r.Hdoc), " ")
		case syntax.WordHdoc:
			input = strings.Join(s.word(r.Word), " ")
		}
	}
	if st.Background {
		s = s.child()
	}
	s.command(st.Cmd, input)
}

// command looks at a command whose standard input may be known.
func (s *shell) command(cmd syntax.Command, input string) {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		s.call(c, input)
	case *syntax.BinaryCmd:
		left, right := s, s
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			left, right = s.child(), s.child()
		}
		left.stmt(c.X)
		right.stmt(c.Y)
	case *syntax.Subshell:
		s.child().stmts(c.Stmts)
	case *syntax.Block:
		s.stmts(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			s.stmts(c.Cond)
			s.stmts(c.Then)
		}
	case *syntax.WhileClause:
		s.stmts(c.Cond)
		s.stmts(c.Do)
	case *syntax.ForClause:
		s.loop(c)
	case *syntax.CaseClause:
		s.inner(c.Word)
		for _, item := range c.Items {
			s.stmts(item.Stmts)
		}
	case *syntax.FuncDecl:
		s.child().stmt(c.Body)
	case *syntax.DeclClause:
		s.assign(c.Args)
	case *syntax.TimeClause:
		s.stmt(c.Stmt)
	case *syntax.CoprocClause:
		s.stmt(c.Stmt)
	}
}

// loop looks at the body of a loop, once for each of its words.
func (s *shell) loop(c *syntax.ForClause) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok || iter.Name == nil {
		s.stmts(c.Do)
		return
	}
	s.inner(iter.Items...)
	var words []string
	for _, w := range iter.Items {
		words = append(words, s.word(w)...)
	}
	if len(words) == 0 || len(words) > maxLoop {
		words = []string{unknown}
	}
	for _, w := range words {
		s.vars[iter.Name.Value] = w
		s.stmts(c.Do)
	}
}

// assign sets variables.
func (s *shell) assign(list []*syntax.Assign) {
	for _, a := range list {
		s.inner(a.Value)
		if a.Name == nil || a.Naked {
			continue
		}
		value := unknown
		if a.Index == nil && a.Array == nil {
			if a.Value == nil {
				value = ""
			} else if isSimple(a.Value) {
				if text, err := expand.Literal(s.config(), a.Value); err == nil {
					value = text
				}
			}
			if a.Append {
				value = s.vars[a.Name.Value] + value
			}
		}
		if len(value) > maxVariable {
			value = unknown
		}
		s.vars[a.Name.Value] = value
	}
}

// config returns the expander's configuration, with unknown as the value of other variables.
func (s *shell) config() *expand.Config {
	// A copy: the expander keeps state in it.
	return &expand.Config{
		Env: expand.FuncEnviron(func(name string) string {
			value, ok := s.vars[name]
			switch {
			case name == "IFS":
				return ""
			case name == "PWD" && s.dir != "":
				return s.dir
			case !ok:
				return unknown
			}
			return value
		}),
		CmdSubst:  nil,
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return unknown, nil },
	}
}

// word returns the words that a word expands to.
func (s *shell) word(w *syntax.Word) []string {
	if w == nil {
		return nil
	}
	if text := w.Lit(); text != "" && !strings.ContainsAny(text, `\{~`) {
		return []string{text}
	}
	if !isSimple(w) {
		return s.parts(w)
	}
	list, err := expand.Fields(s.config(), w)
	if err != nil || len(list) > maxLoop {
		return []string{unknown}
	}
	return list
}

// isSimple reports whether the expansion of a word, or of a part of one, is known, short and quick: it has no
// substitution, no arithmetic and no long braces.
func isSimple(n syntax.Node) bool {
	braces, simple := 0, true
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob:
			simple = false
		case *syntax.ParamExp:
			simple = simple && n.Param != nil && !n.Excl && !n.Length && !n.Width && n.NestedParam == nil && n.Index == nil &&
				n.Slice == nil && n.Repl == nil && n.Names == 0 && n.Exp == nil
		case *syntax.Lit:
			if braces += strings.Count(n.Value, "{"); braces > 3 || braces > 0 && strings.Contains(n.Value, "..") {
				simple = false // {1..1000000}
			}
		}
		return simple
	})
	return simple
}

// parts returns a word of which some parts are unknown.
func (s *shell) parts(w *syntax.Word) []string {
	var text strings.Builder
	for _, part := range w.Parts {
		list := []string{unknown}
		if isSimple(part) {
			if known, err := expand.Fields(s.config(), &syntax.Word{Parts: []syntax.WordPart{part}}); err == nil {
				list = known
			}
		}
		text.WriteString(strings.Join(list, " "))
	}
	return []string{text.String()}
}

// inner looks at the commands in substitutions.
func (s *shell) inner(words ...*syntax.Word) {
	for _, w := range words {
		if w == nil || w.Lit() != "" {
			continue
		}
		syntax.Walk(w, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CmdSubst:
				s.child().stmts(n.Stmts)
				return false
			case *syntax.ProcSubst:
				s.child().stmts(n.Stmts)
				return false
			}
			return true
		})
	}
}

// call looks at a simple command.
func (s *shell) call(c *syntax.CallExpr, input string) {
	s.inner(c.Args...)
	if len(c.Args) == 0 {
		s.assign(c.Assigns)
		return
	}
	for _, a := range c.Assigns {
		s.inner(a.Value)
	}
	var words []string
	for _, w := range c.Args {
		words = append(words, s.word(w)...)
	}
	s.run(words, input)
}

// write emits a file that is written.
func (s *shell) write(to string, tree bool) {
	if to == "" || strings.HasPrefix(to, unknown) || !path.IsAbs(to) && s.dir == "" {
		return
	}
	s.emit(effect{path: s.at(to), tree: tree})
}

// enter emits the entries of a directory that a command makes, by a pattern for their names.
func (s *shell) enter(when entry, dir, names string) {
	if dir != "" && !strings.HasPrefix(dir, unknown) && (path.IsAbs(dir) || s.dir != "") {
		s.emit(effect{path: s.at(dir) + "/" + names, enter: when})
	}
}

// at returns an absolute path.
func (s *shell) at(to string) string {
	if path.IsAbs(to) {
		return path.Clean(to)
	}
	return path.Join(s.dir, to)
}

// chdir changes the directory.
func (s *shell) chdir(to string) {
	switch {
	case strings.Contains(to, unknown) || to == "-" || !path.IsAbs(to) && s.dir == "":
		s.dir = ""
	default:
		s.dir = s.at(to)
	}
}
