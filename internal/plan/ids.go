package plan

// This file compares task ids: 1, "1", "01", "T01" and "T-001" are the same task. It does not know
// edges.

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"wavex/internal/plan/source"
)

// index finds tasks by id. It keeps numeric ids apart: big plans mostly have numeric ids, and small
// numbers need no hashing.
type index struct {
	small   []int32 // by number: 1 + the task; 0: none
	numbers map[uint64]int32
	names   map[string]int32
	folded  map[string]int32 // names with capitals, in small letters
}

// newIndex returns an index with room for small numbers up to a few times the expected number of
// tasks.
func newIndex(tasks int) index {
	return index{make([]int32, 2*tasks+100), map[uint64]int32{}, map[string]int32{}, map[string]int32{}}
}

func (x *index) number(n uint64) (int32, bool) {
	if n < uint64(len(x.small)) {
		return x.small[n] - 1, x.small[n] != 0
	}
	i, ok := x.numbers[n]
	return i, ok
}

// find returns the task with an id, or the number of one that was not read yet.
func (x *index) find(id string) (int32, bool) {
	if n, ok := NumericID(id); ok {
		return x.number(n)
	}
	i, ok := x.names[id]
	return i, ok
}

func (x *index) set(id string, i int32) {
	switch n, isNumber := NumericID(id); {
	case !isNumber:
		x.names[id] = i
	case n < uint64(len(x.small)):
		x.small[n] = i + 1
	default:
		x.numbers[n] = i
	}
}

// NumericID returns the number of ids like 1, 01, T01, T-001. Other ids are names.
func NumericID(id string) (uint64, bool) {
	s := id
	if len(s) > 1 && (s[0] == 'T' || s[0] == 't') {
		if s = s[1:]; len(s) > 1 && s[0] == '-' {
			s = s[1:]
		}
	}
	if s == "" || len(s) > 64 {
		return 0, false
	}
	var n uint64
	for _, c := range []byte(s) {
		if c < '0' || c > '9' || n > 1e17 {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// get returns the task with that id, in any spelling of its number. Names must match exactly; add
// refuses names that differ only by case.
func (x *index) get(id string) (int32, bool) {
	i, ok := x.find(id)
	return i, ok && i < firstLater
}

// add adds task i, or returns the task that already has the id. Ids that differ only by case are
// the same, because they name the same folder on macOS and Windows. If the task was named before, add returns the
// number that it had.
func (x *index) add(id string, i int) (other int, ok bool) {
	at, taken := x.find(id)
	if taken && at < firstLater {
		return int(at), false
	}
	if _, isNumber := NumericID(id); !isNumber {
		low := strings.ToLower(id)
		if same, taken := x.folded[low]; taken {
			return int(same), false
		}
		if low != id {
			if same, taken := x.get(low); taken {
				return int(same), false
			}
			x.folded[low] = int32(i)
		}
	}
	x.set(id, int32(i))
	return int(at), true
}

// IDs returns the ids of tasks, which are given by their place in the plan. It never returns nil.
func IDs[I int | int32](p *Plan, tasks []I) []string {
	ids := make([]string, len(tasks))
	for n, i := range tasks {
		ids[n] = p.Tasks[i].ID
	}
	return ids
}

// Lookup finds a task by its id in any spelling: 1, 01, T01 and T-001 are the same, and so are G[a/b] and G[a~b].
func (p *Plan) Lookup(id string) (int, bool) {
	i, ok := p.ids.get(id)
	if group, key, step := splitMember(id); !ok && group != "" { // the key as the item has it, like src/a.go
		i, ok = p.ids.get(memberID(group, key) + step)
	}
	return int(i), ok
}

// Group finds a group by its id in any spelling; nil: there is none.
func (p *Plan) Group(id string) *Group {
	n, isNumber := NumericID(id)
	for k := range p.Groups {
		own, numeric := NumericID(p.Groups[k].ID)
		if p.Groups[k].ID == id || isNumber && numeric && own == n {
			return &p.Groups[k]
		}
	}
	return nil
}

// id reads an id in its original spelling: a string, or a whole number.
func (d *decoder) id(t source.Token) (string, bool) {
	switch t.Kind {
	case source.KindString:
		return t.Text, d.rejectNUL(t)
	case source.KindNumber:
		if _, err := strconv.ParseUint(t.Text, 10, 64); err == nil {
			return t.Text, true
		}
		d.errorf(t.At, CodeBadID, "%s is no task id; use a whole number or a string", t.Text)
		return "", false
	}
	d.wrongType(t, "a task id (a string or a number)")
	return "", false
}

// invalidIDReason returns the reason why an id cannot name a folder on every system, or "".
func invalidIDReason(id string) string {
	switch {
	case id == "":
		return "is empty"
	case len(id) > maxID:
		return fmt.Sprintf("is longer than %d bytes", maxID)
	case id[0] == '.' || id[0] == '-':
		return "begins with " + strconv.Quote(id[:1])
	case strings.HasSuffix(id, "."), strings.TrimSpace(id) != id:
		return "ends in a dot, or begins or ends with a space"
	}
	for _, r := range id {
		// Joiners stay: scripts and emoji need them.
		acts := unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d'
		if acts || strings.ContainsRune(`/\:*?"<>|`, r) {
			return "contains " + strconv.QuoteRune(r)
		}
	}
	base, _, _ := strings.Cut(id, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL":
		return "is a reserved name on Windows"
	}
	if len(base) == 4 && (strings.HasPrefix(base, "COM") || strings.HasPrefix(base, "LPT")) && base[3] >= '0' &&
		base[3] <= '9' {
		return "is a reserved name on Windows"
	}
	return ""
}
