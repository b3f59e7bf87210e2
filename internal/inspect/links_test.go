package inspect

import (
	"testing"
	"testing/fstest"

	"wavex/internal/plan"
)

func TestLinks(t *testing.T) {
	t.Parallel()
	root := fstest.MapFS{
		"hooks/hooks.json": {Data: []byte(`{"command": "bash hooks/stop.sh"}`)},
		"hooks/stop.sh":    {Data: []byte("cat STATE.md\n")},
		"config.md":        {Data: []byte("retries: 3\n")}, "execute.md": {Data: []byte("read config.md first\n")},
		"a.js": {Data: []byte(`import x from "./lib/b"`)}, "lib/b.js": {Data: []byte("export default 1")},
		"lonely.md": {Data: []byte("alone\n")},
	}
	link := func(from, to, why string) plan.Link { return plan.Link{From: from, To: to, Why: why} }
	for _, c := range []struct {
		link plan.Link
		want string // "" if connected
	}{
		{link("hooks/hooks.json", "hooks/stop.sh", ""), ""},
		{link("hooks/stop.sh", "STATE.md", ""), ""}, // the name is enough; that the file exists is a task's check
		{link("config.md", "execute.md", "the other names it"), ""},
		{link("a.js", "lib/b.js", ""), ""},
		{link("lonely.md", "execute.md", "loops"), "it is to be connected with execute.md, and neither names the other"},
		{link("gone.md", "execute.md", ""), "it is to be connected with execute.md, and is not there"},
		{link("./lonely.md", "gone.md", ""), "it is to be connected with gone.md, which is not there"},
		{link("../out.md", "execute.md", ""), "it is to be connected with execute.md, and is not there"},
	} {
		got := brokenLinks(root, []plan.Link{c.link})
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || got[0].Description != c.want ||
			got[0].Type != BrokenLink) {
			t.Errorf("%+v: %+v, want %q", c.link, got, c.want)
		}
		if len(got) == 1 && c.link.Why != "" && got[0].Evidence != "asked for: "+c.link.Why {
			t.Errorf("evidence %q", got[0].Evidence)
		}
	}
}
