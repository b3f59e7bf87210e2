package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wavex/cmd"
	"wavex/fleet/remote"
	"wavex/fleet/remote/wire"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/usererr"
)

func newWorkers(f fleet, std cmd.Stdio) *cobra.Command {
	var w *event.Workers
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
			std.Fleet = f
			named, err := cmd.UserSettings(c, std)
			if err != nil {
				return err
			}
			return f.list(c.Context(), *w, named, output, std)
		},
	}
	w = cmd.WorkersFlags(c, func(string) bool { return true })
	c.Flags().Lookup("workers").Usage = "the engine: temporal://HOST:PORT/NAMESPACE"
	c.Flags().StringVar(&output, "output", "text", "form of the output: text, json")
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

// list prints the workers of an engine.
func (f fleet) list(ctx context.Context, w event.Workers, named func(string) string, output string,
	std cmd.Stdio) error {
	switch {
	case output != "text" && output != "json":
		return usage("--output takes text or json, not %q", output)
	case w.Engine == "":
		return usage("%s is needed: temporal://HOST:PORT/NAMESPACE", named("workers"))
	}
	o, err := engineOptionsOf(w, named)
	if err != nil {
		return err
	}
	e, server, err := reach(ctx, f.dial, o)
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

// text returns the report for people.
func (r workersReport) text() string {
	var b strings.Builder
	if len(r.Workers) == 0 {
		fmt.Fprintf(&b, "no worker asks for attempts of queue %s at %s\n", r.Queue, r.Engine)
	}
	for _, w := range r.Workers {
		b.WriteString(describe(w.Worker) + ", seen " + seen(w.Silent) + "\n")
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
