package policy

import (
	"path"
	"slices"
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
	s := &shell{place: place{dir: dir}, vars: map[string]string{}, emit: emit, left: &left}
	for name, value := range env {
		s.vars[name] = value
	}
	s.text(text)
}

// shell is the state of a shell, as far as the text tells.
type shell struct {
	place
	vars   map[string]string
	nested int
	left   *int // commands that may still be looked at
	emit   func(effect)
}

// place is the directory of a shell, with those that it may return to.
type place struct {
	dir   string   // absolute; "": unknown
	old   string   // of cd -; "": unknown
	stack []string // of popd; "": unknown
}

// child returns a copy of the state for a subshell.
func (s *shell) child() *shell {
	c := *s
	c.stack = slices.Clip(c.stack)
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
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut, syntax.DplOut:
			for _, w := range s.word(r.Word) {
				if r.Op != syntax.DplOut || strings.Trim(w, "0123456789-") != "" { // not 2>&1
					s.write(w, false)
				}
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
		s.binary(c)
	case *syntax.Subshell:
		s.child().stmts(c.Stmts)
	case *syntax.Block:
		s.branch(c.Stmts)
	case *syntax.IfClause:
		s.branches(c)
	case *syntax.WhileClause:
		s.stmts(c.Cond)
		s.stmts(c.Do)
	case *syntax.ForClause:
		s.loop(c)
	case *syntax.CaseClause:
		s.inner(c.Word)
		for _, item := range c.Items {
			s.inner(item.Patterns...)
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
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		s.substitutions(c)
	}
}

// binary looks at two commands. After || the second one usually did not run, if the first one changes the directory.
func (s *shell) binary(c *syntax.BinaryCmd) {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		s.child().stmt(c.X)
		s.child().stmt(c.Y)
		return
	}
	before := s.dir
	s.stmt(c.X)
	after := s.place
	s.stmt(c.Y)
	if c.Op == syntax.OrStmt && after.dir != before {
		s.place = after
	}
}

// branch looks at commands of which some may not run. What leaves the shell does not change the directory of the
// commands behind it.
func (s *shell) branch(list []*syntax.Stmt) {
	before := s.place
	s.stmts(list)
	if len(list) == 0 {
		return
	}
	if last, is := list[len(list)-1].Cmd.(*syntax.CallExpr); is && len(last.Args) > 0 &&
		(last.Args[0].Lit() == "exit" || last.Args[0].Lit() == "return") {
		s.place = before
	}
}

// branches looks at all branches of an if clause. Each begins where the conditions end, and the first that changes the
// directory counts for the commands behind it.
func (s *shell) branches(c *syntax.IfClause) {
	var changed *place
	for ; c != nil; c = c.Else {
		s.stmts(c.Cond)
		before := s.place
		s.branch(c.Then)
		if after := s.place; changed == nil && after.dir != before.dir {
			changed = &after
		}
		s.place = before
	}
	if changed != nil {
		s.place = *changed
	}
}

// loop looks at the body of a loop, once for each of its words.
func (s *shell) loop(c *syntax.ForClause) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok || iter.Name == nil {
		s.substitutions(c.Loop)
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
		s.substitutions(a)
		if a.Name == nil || a.Naked {
			continue
		}
		value := unknown
		if a.Index == nil && a.Array == nil {
			if a.Value == nil {
				value = ""
			} else if !isSimple(a.Value) {
				value = strings.Join(s.parts(a.Value), " ")
			} else if text, err := expand.Literal(s.config(), a.Value); err == nil {
				value = text
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
// substitution, no arithmetic and no long braces. Of ${x:-y} and ${x:?} the text tells the value if it sets x.
func isSimple(n syntax.Node) bool {
	braces, simple := 0, true
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob:
			simple = false
		case *syntax.ParamExp:
			simple = simple && n.Param != nil && !n.Excl && !n.Length && !n.Width && n.NestedParam == nil && n.Index == nil &&
				n.Slice == nil && n.Repl == nil && n.Names == 0 && (n.Exp == nil || n.Exp.Op == syntax.DefaultUnset ||
				n.Exp.Op == syntax.DefaultUnsetOrNull || n.Exp.Op == syntax.ErrorUnset || n.Exp.Op == syntax.ErrorUnsetOrNull)
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
		quoted, is := part.(*syntax.DblQuoted)
		if !is {
			text.WriteString(s.part(part))
			continue
		}
		for _, p := range quoted.Parts {
			if isSimple(p) {
				p = &syntax.DblQuoted{Parts: []syntax.WordPart{p}}
			}
			text.WriteString(s.part(p))
		}
	}
	return []string{text.String()}
}

// part returns a part of a word, or unknown. The directory is the value of $(pwd).
func (s *shell) part(p syntax.WordPart) string {
	if isSimple(p) {
		if known, err := expand.Fields(s.config(), &syntax.Word{Parts: []syntax.WordPart{p}}); err == nil {
			return strings.Join(known, " ")
		}
	}
	if c, is := p.(*syntax.CmdSubst); is && s.dir != "" && len(c.Stmts) == 1 && len(c.Stmts[0].Redirs) == 0 {
		if call, is := c.Stmts[0].Cmd.(*syntax.CallExpr); is && len(call.Args) == 1 && call.Args[0].Lit() == "pwd" {
			return s.dir
		}
	}
	return unknown
}

// inner looks at the commands in substitutions.
func (s *shell) inner(words ...*syntax.Word) {
	for _, w := range words {
		if w != nil && w.Lit() == "" {
			s.substitutions(w)
		}
	}
}

// substitutions looks at the commands in the substitutions below a node.
func (s *shell) substitutions(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
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

// call looks at a simple command.
func (s *shell) call(c *syntax.CallExpr, input string) {
	s.inner(c.Args...)
	if len(c.Args) == 0 {
		s.assign(c.Assigns)
		return
	}
	for _, a := range c.Assigns {
		s.substitutions(a)
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
	from := s.dir
	switch {
	case to == "-":
		s.dir = s.old
	case strings.Contains(to, unknown) || !path.IsAbs(to) && s.dir == "":
		s.dir = ""
	default:
		s.dir = s.at(to)
	}
	s.old = from
}
