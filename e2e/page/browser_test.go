//go:build unix

package page

// This file drives one Chromium over a pair of pipes: JSON messages, each ended by a zero byte
// (--remote-debugging-pipe). It knows the protocol's frame and a few methods.

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wavex/e2e/rig"
	"wavex/internal/jsonobject"
	"wavex/internal/testrepo"
)

// patience bounds any one answer or condition.
const patience = 10 * time.Minute

// browser is a running Chromium.
type browser struct {
	t     *testing.T
	write io.Writer

	mu    sync.Mutex
	next  int
	waits map[int]chan jsonobject.Value
	tabs  map[string]*tab // by session
	ended bool
}

// tab is an open page. It records the page's console messages and network requests.
type tab struct {
	b        *browser
	session  string
	loaded   chan struct{} // holds one value: a page was loaded
	mu       sync.Mutex
	faults   []string
	requests []string
}

func launch(t *testing.T) *browser {
	t.Helper()
	ours, theirs := pair(t), pair(t)
	cmd := exec.Command(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--force-color-profile=srgb",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C.UTF-8"}
	cmd.ExtraFiles = []*os.File{ours.r, theirs.w} // its descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting chromium: %v", err)
	}
	_, _ = ours.r.Close(), theirs.w.Close()
	b := &browser{t: t, write: ours.w, waits: map[int]chan jsonobject.Value{}, tabs: map[string]*tab{}}
	done := make(chan struct{})
	go func() { defer close(done); b.read(theirs.r) }()
	t.Cleanup(func() {
		_ = ours.w.Close() // chromium ends when its pipe is closed; otherwise its group is killed
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		<-done
		_ = theirs.r.Close()
	})
	return b
}

type ends struct{ r, w *os.File }

func pair(t *testing.T) ends {
	t.Helper()
	r, w, err := os.Pipe()
	testrepo.Must(t, err)
	return ends{r, w}
}

func (b *browser) read(in io.Reader) {
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		raw, err := r.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			b.ended = true
			for _, c := range b.waits {
				close(c)
			}
			b.waits = nil
			b.mu.Unlock()
			return
		}
		m := jsonobject.Value(raw[:len(raw)-1])
		b.mu.Lock()
		if id := int(m.Get("id").Int()); id > 0 {
			if c := b.waits[id]; c != nil {
				c <- m
				delete(b.waits, id)
			}
		} else if p := b.tabs[m.Get("sessionId").Text()]; p != nil {
			p.event(m.Get("method").Text(), m.Get("params"))
		}
		b.mu.Unlock()
	}
}

// call sends a command and waits for its result.
func (b *browser) call(session, method string, params map[string]any) (jsonobject.Value, error) {
	b.mu.Lock()
	if b.ended {
		b.mu.Unlock()
		return nil, errors.New("chromium has ended")
	}
	b.next++
	id, c := b.next, make(chan jsonobject.Value, 1)
	b.waits[id] = c
	m := map[string]any{"id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if session != "" {
		m["sessionId"] = session
	}
	raw, err := json.Marshal(m)
	if err == nil {
		_, err = b.write.Write(append(raw, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case m, ok := <-c:
		if !ok {
			return m, errors.New("chromium has ended")
		}
		if e := m.Get("error.message"); e != nil {
			return m, fmt.Errorf("%s: %s", method, e.Text())
		}
		return m.Get("result"), nil
	case <-timer.C:
		return nil, fmt.Errorf("%s: no answer", method)
	}
}

// tab opens an empty page of a size in the light or the dark scheme.
func (b *browser) tab(width, height int, scheme string) *tab {
	b.t.Helper()
	target, err := b.call("", "Target.createTarget", map[string]any{"url": "about:blank"})
	if err != nil {
		b.t.Fatal(err)
	}
	got, err := b.call("", "Target.attachToTarget", map[string]any{"targetId": target.Get("targetId").Text(),
		"flatten": true})
	if err != nil {
		b.t.Fatal(err)
	}
	p := &tab{b: b, session: got.Get("sessionId").Text(), loaded: make(chan struct{}, 1)}
	b.mu.Lock()
	b.tabs[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.do(domain+".enable", nil)
	}
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1,
		"mobile": false})
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme",
		"value": scheme}}})
	return p
}

func (p *tab) event(method string, e jsonobject.Value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch method {
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Runtime.exceptionThrown":
		p.faults = append(p.faults, e.Get("exceptionDetails.text").Text()+" "+
			e.Get("exceptionDetails.exception.description").Text())
	case "Runtime.consoleAPICalled":
		if kind := e.Get("type").Text(); kind == "error" || kind == "warning" || kind == "assert" {
			p.faults = append(p.faults, kind+": "+string(e.Get("args")))
		}
	case "Log.entryAdded":
		if l := e.Get("entry.level").Text(); l == "error" || l == "warning" {
			p.faults = append(p.faults, l+": "+e.Get("entry.text").Text()+" "+e.Get("entry.url").Text())
		}
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Get("request.url").Text())
	}
}

func (p *tab) do(method string, params map[string]any) jsonobject.Value {
	p.b.t.Helper()
	r, err := p.b.call(p.session, method, params)
	if err != nil {
		p.b.t.Fatal(err)
	}
	return r
}

// open loads a page and returns how long that took, including its script, as counted by
// rig.Within.
func (p *tab) open(url string) time.Duration {
	p.b.t.Helper()
	ctx, cancel := context.WithTimeout(p.b.t.Context(), patience)
	defer cancel()
	answered := make(chan struct{})
	var answer jsonobject.Value
	var err error
	go func() {
		defer close(answered)
		answer, err = p.b.call(p.session, "Page.navigate", map[string]any{"url": url})
	}()
	took, ok := rig.Within(ctx, patience, func() bool { return len(p.loaded) > 0 })
	<-answered
	if e := answer.Get("errorText").Text(); err != nil || e != "" || !ok {
		p.b.t.Fatalf("opening %s: %v %s, loaded: %v", url, err, e, ok)
	}
	<-p.loaded
	return took
}

// eval returns the value of an expression in the page.
func (p *tab) eval(expression string) jsonobject.Value {
	p.b.t.Helper()
	r := p.do("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	if e := r.Get("exceptionDetails"); e != nil {
		p.b.t.Fatalf("%s: %s", expression, e.Get("exception.description").Text())
	}
	return r.Get("result.value")
}

// until waits, in the page, for an expression to become true.
func (p *tab) until(condition string) {
	p.b.t.Helper()
	p.eval(`new Promise((ok, no) => {
	  const end = setTimeout(() => no(new Error("never: " + ` + quoted(condition) + `)), ` +
		fmt.Sprint((patience / 2).Milliseconds()) + `);
	  (function look() { if (` + condition + `) { clearTimeout(end); ok(true); } else requestAnimationFrame(look); })();
	})`)
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always encodes
	return string(b)
}

// text returns the text of an element.
func (p *tab) text(selector string) string {
	p.b.t.Helper()
	return p.eval("document.querySelector(" + quoted(selector) + ").innerText").Text()
}

// pressKey sends a key press like a person's.
func (p *tab) pressKey(key string) {
	p.b.t.Helper()
	down := map[string]any{"type": "keyDown", "key": key}
	switch key {
	case "Enter":
		down["text"], down["code"], down["windowsVirtualKeyCode"] = "\r", "Enter", 13
	case "Escape":
		down["code"], down["windowsVirtualKeyCode"] = "Escape", 27
	case "Tab":
		down["code"], down["windowsVirtualKeyCode"] = "Tab", 9
	case "ArrowRight":
		down["code"], down["windowsVirtualKeyCode"] = "ArrowRight", 39
	default:
		down["text"] = key
	}
	p.do("Input.dispatchKeyEvent", down)
	p.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key})
}

func (p *tab) write(text string) {
	p.b.t.Helper()
	p.do("Input.insertText", map[string]any{"text": text})
}

// screenshot saves a screenshot to the folder in WAVEX_E2E_SHOTS, for people to look at.
func (p *tab) screenshot(name string) {
	p.b.t.Helper()
	dir := os.Getenv("WAVEX_E2E_SHOTS")
	if dir == "" {
		return
	}
	png, err := base64.StdEncoding.DecodeString(p.do("Page.captureScreenshot",
		map[string]any{"format": "png"}).Get("data").Text())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		p.b.t.Fatal(err)
	}
}

// expectNoErrors fails the test if the page reported a fault on the console, or requested a URL that is
// not below allowed.
func (p *tab) expectNoErrors(allowed string) {
	p.b.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		p.b.t.Errorf("the console says: %s", f)
	}
	for _, r := range p.requests {
		if !strings.HasPrefix(r, allowed) && r != "about:blank" {
			p.b.t.Errorf("the page asked for %s", r)
		}
	}
}

func (p *tab) close() {
	p.b.t.Helper()
	p.do("Page.close", nil)
}
