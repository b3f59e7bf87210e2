package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/remote"
	"wavex/internal/remote/temporal"
	"wavex/internal/remote/wire"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
)

func newWorkers(std Stdio) *cobra.Command {
	var w event.Workers
	var output string
	c := &cobra.Command{
		Use:   "workers",
		Short: "List the workers that would take attempts",
		Long: `workers asks an engine which workers have asked for attempts in the last
minutes: their slots, the versions of wavex and of the CLI, and the kind of
their login. A worker that was killed stays in the list for these minutes.
Workers with another key or another protocol are not in the list.

Exit status: 0 listed, 2 usage, 5 the engine cannot be reached.`,
		Example: "  wavex workers --workers temporal://temporal.example:7233/default \\\n" +
			"      --key-file wavex.key --tls-ca ca.pem",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := newSettings(c)
			if err == nil {
				err = s.readUser()
			}
			if err != nil {
				return err
			}
			return runWorkers(c.Context(), w, s.named, output, std)
		},
	}
	workersFlags(c, &w)
	outputFlag(c, &output)
	return c
}

// workersReport is the JSON output of `wavex workers`.
type workersReport struct {
	Engine    string         `json:"engine"`
	Version   string         `json:"version"`  // of the engine
	Protocol  int            `json:"protocol"` // of the messages
	Queue     string         `json:"queue"`
	Retention float64        `json:"retention_seconds"`
	Workers   []listedWorker `json:"workers"`
	Warning   string         `json:"warning,omitempty"`
}

type listedWorker struct {
	remote.Worker
	Silent float64 `json:"silent_seconds"` // since it asked for attempts
}

func runWorkers(ctx context.Context, w event.Workers, named func(string) string, output string, std Stdio) error {
	if w.Engine == "" {
		return usage("%s is needed: temporal://HOST:PORT/NAMESPACE", named("workers"))
	}
	e, o, server, err := openEngine(ctx, std, w, named)
	if err != nil {
		return err
	}
	defer e.Close()
	queue := o.Key.Queue("")
	list, err := e.Workers(ctx, queue)
	if err != nil {
		return usererr.Blocked(err)
	}
	r := workersReport{Engine: w.Engine, Version: server.Version, Protocol: wire.Protocol, Queue: queue,
		Retention: server.Retention.Seconds(), Workers: []listedWorker{}, Warning: shortRetention(server)}
	for _, x := range list {
		r.Workers = append(r.Workers, listedWorker{x, time.Since(x.Seen).Seconds()})
	}
	if output == "json" {
		return json.NewEncoder(std.Out).Encode(r)
	}
	_, err = io.WriteString(std.Out, r.text())
	return err
}

// engineOptionsOf returns the options of a connection to the engine of the workers.
func engineOptionsOf(w event.Workers, named func(string) string) (temporal.Options, error) {
	address, namespace, _ := parseEngine(w.Engine)
	return engineOptions(address, namespace, w.Connection, named)
}

// openEngine connects with the engine of the workers.
func openEngine(ctx context.Context, std Stdio, w event.Workers, named func(string) string) (engine, temporal.Options,
	temporal.Server, error) {
	o, err := engineOptionsOf(w, named)
	if err != nil {
		return nil, o, temporal.Server{}, err
	}
	e, server, err := reach(ctx, std, o)
	return e, o, server, err
}

// slots returns the number of attempts that workers make at a time. A worker that does not say it counts as one.
func slots(list []remote.Worker) (n int) {
	for _, w := range list {
		n += max(1, w.Slots)
	}
	return n
}

// text returns the report for people.
func (r workersReport) text() string {
	var b strings.Builder
	if len(r.Workers) == 0 {
		fmt.Fprintf(&b, "no worker asks for attempts of queue %s at %s\n", r.Queue, r.Engine)
	}
	for i, w := range r.Workers {
		if i == 0 {
			fmt.Fprintf(&b, "%-20s %5s  %-12s %-12s %-24s %s\n", "worker", "slots", "wavex", "claude", "login", "seen")
		}
		fmt.Fprintf(&b, "%-20s %5d  %-12s %-12s %-24s %s\n", textfmt.Line(w.Name), w.Slots, textfmt.Line(w.Release),
			textfmt.Line(w.CLI), textfmt.Line(w.Login), seen(w.Silent))
	}
	if r.Warning != "" {
		b.WriteString("warning: " + r.Warning + "\n")
	}
	return b.String()
}

// seen says when a worker last asked for attempts. It asks all the time, and an engine tells it to ask again after a
// minute at the latest.
func seen(silent float64) string {
	const asks = 90
	if silent < asks {
		return "now"
	}
	return report.FormatDuration(time.Duration(silent*float64(time.Second))) + " ago"
}
