//go:build unix

package cmd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"wavex/cmd"
	"wavex/internal/testrepo"
)

// mcptool TOOL JSON [VAR=VALUE]... starts a server and calls one of its tools. stdout is the answer, stderr the
// progress. With ! the answer must be an error.
func mcpTool(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] mcptool TOOL JSON [VAR=VALUE]...")
	}
	p := program(ts, []string{"wavex", "mcp"})
	p.cmd.Env = append(p.cmd.Env, args[2:]...)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			fmt.Fprintf(ts.Stderr(), "%g: %s\n", r.Params.Progress, r.Params.Message)
		}})
	s, err := client.Connect(ctx, &mcp.CommandTransport{Command: p.cmd}, nil)
	ts.Check(err)
	call := &mcp.CallToolParams{Name: args[0], Arguments: json.RawMessage(args[1])}
	call.SetProgressToken("token")
	r, err := s.CallTool(ctx, call)
	ts.Check(err)
	ts.Check(s.Close())
	for _, c := range r.Content {
		_, err := io.WriteString(ts.Stdout(), c.(*mcp.TextContent).Text)
		ts.Check(err)
	}
	if r.IsError != neg {
		ts.Fatalf("error: %v, want %v", r.IsError, neg)
	}
}

// The server ends when its input does, also while a tool waits, and leaves no goroutine.
func TestMCPEndsWithItsInput(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	in, client := io.Pipe()
	replies, out := io.Pipe()
	ended := make(chan int, 1)
	go func() { ended <- cmd.Main(t.Context(), []string{"mcp"}, cmd.Stdio{In: in, Out: out, Err: io.Discard}) }()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(),
		&mcp.IOTransport{Reader: replies, Writer: client}, nil)
	testrepo.Must(t, err)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 6 {
		t.Errorf("%d tools, %v", len(list.Tools), err)
	}
	_ = client.Close()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
	_ = out.Close()
	_ = s.Close()
}
