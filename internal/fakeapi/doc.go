// Package fakeapi is a scripted Messages API on loopback, for tests against the real claude CLI
// and for probes of it. A test maps conversations to replies. A reply with a tool_use block makes
// the CLI really run the tool, so a script drives a real process through real edits. The server
// records its requests, a test can wait for them without polling, and can compare its charges
// with the costs that the CLI reports.
//
// The package knows the wire format, as observed on claude 2.1.330, and nothing of wavex: neither
// plans nor runs nor the CLI's own output. It serves only 127.0.0.1.
//
// # A script
//
// A Script is a list of agents. The first Agent whose When matches a request answers it, with the
// agent's next step. Steps without a request, requests without an agent, and requests beyond the
// last step fail the test, because a script that is not played as written proves nothing.
//
//	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{
//		{When: fakeapi.Prompt("Task: T-003"), Steps: []fakeapi.Reply{
//			fakeapi.Use(fakeapi.Write("add.go", "package add\n")),
//			fakeapi.Use(fakeapi.Bash("go test ./...")),
//			fakeapi.Text("done"),
//		}},
//	}})
//
// The CLI's own retries are requests like any other: Fail(529, "overloaded").Times(3) answers
// three of them.
package fakeapi
