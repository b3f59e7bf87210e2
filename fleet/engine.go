package fleet

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wavex/fleet/remote"
	"wavex/fleet/remote/temporal"
	"wavex/fleet/remote/wire"
	"wavex/fleet/worker"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/safefile"
	"wavex/internal/usererr"
)

// This file connects commands with the engine of workers on other machines.

func usage(format string, args ...any) error { return usererr.Usage(format, args...) }

// noArgs refuses arguments.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("wavex %s takes no argument, not %q", c.Name(), args[0])
	}
	return nil
}

// engine is a connection with an engine.
type engine interface {
	remote.Engine
	Check(ctx context.Context) (temporal.Server, error)
	Serve(ctx context.Context, queues []string, slots int, work func(worker.Task)) error
	Close()
}

// options configures a connection with an engine.
type options = temporal.Options

// dialer connects with an engine.
type dialer func(ctx context.Context, o options) (engine, error)

// fleet is a cmd.Fleet.
type fleet struct{ dial dialer }

func dialTemporal(ctx context.Context, o options) (engine, error) {
	c, err := temporal.Dial(ctx, o)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Defaults of a run with workers.
const (
	defaultQueueWait = 10 * time.Minute
	defaultHeartbeat = time.Minute
)

// queueWait returns the time for a worker to take an attempt.
func queueWait(w event.Workers) time.Duration { return cmp.Or(w.QueueWait, defaultQueueWait) }

// engineOptionsOf returns the options of a connection to the engine of the workers.
func engineOptionsOf(w event.Workers, named func(string) string) (options, error) {
	address, namespace, ok := parseEngine(w.Engine)
	beat, wait := cmp.Or(w.Heartbeat, defaultHeartbeat), queueWait(w)
	switch {
	case !ok:
		return options{}, usage("%s takes temporal://HOST:PORT/NAMESPACE, not %q", named("workers"), w.Engine)
	case wait < 10*time.Second:
		return options{}, usage("%s takes a duration from 10s, not %s", named("queue-wait"), wait)
	case beat < 10*time.Second || beat > 10*time.Minute:
		return options{}, usage("%s takes a duration from 10s to 10m, not %s", named("heartbeat"), beat)
	}
	return engineOptions(address, namespace, w.Connection, named)
}

// parseEngine returns the address and the namespace in the URL of an engine.
func parseEngine(text string) (address, namespace string, ok bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "temporal" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", "", false
	}
	namespace = strings.TrimPrefix(u.Path, "/")
	return u.Host, namespace, isAddress(u.Host) && isNamespace(namespace)
}

func isNamespace(s string) bool { return s != "" && !strings.Contains(s, "/") }

// isAddress reports whether s is HOST:PORT.
func isAddress(s string) bool {
	host, port, err := net.SplitHostPort(s)
	n, perr := strconv.Atoi(port)
	return err == nil && perr == nil && host != "" && n > 0 && n < 1<<16
}

// apiKeyVar is the variable with the key of an engine that wants one, as the programs of Temporal call it.
const apiKeyVar = "TEMPORAL_API_KEY"

// engineOptions returns the options of a connection to the engine at an address. named names a flag for errors.
func engineOptions(address, namespace string, c event.Connection, named func(string) string) (options, error) {
	o := options{Address: address, Namespace: namespace, APIKey: os.Getenv(apiKeyVar)}
	host, _, _ := net.SplitHostPort(address)
	addr, err := netip.ParseAddr(host)
	near := host == "localhost" || err == nil && addr.IsLoopback()
	if o.Key, err = readKey(c.KeyFile, named("key-file")); err != nil {
		return o, err
	}
	if o.TLS, err = tlsConfig(c, host, named); err != nil {
		return o, err
	}
	switch secure := o.TLS != nil || o.APIKey != ""; {
	case c.KeyFile == "" && !near:
		return o, usage("%s is needed: %s is another machine, and whoever reaches it could run commands on workers without "+
			"the key; make one with: head -c %d /dev/urandom > wavex.key; chmod 600 wavex.key", named("key-file"), host,
			wire.KeySize)
	case c.Insecure && secure:
		return o, usage("%s is for an engine without TLS; leave it out with --tls-* or %s", named("insecure"), apiKeyVar)
	case !c.Insecure && !secure && !near:
		return o, usage("%s is another machine: give --tls-ca, --tls-cert and --tls-key, or set %s, or allow plain text "+
			"with %s", host, apiKeyVar, named("insecure"))
	}
	return o, nil
}

// readKey reads the key in a file, or returns nil if path is "".
func readKey(path, flag string) (*wire.Key, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, usage("%s: %s", flag, err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, usage("%s: others may read %s; chmod 600 it, and make another key if they have", flag, path)
	}
	secret, err := safefile.Read(path, 1<<10)
	if err != nil {
		return nil, usage("%s: %s", flag, err)
	}
	key, err := wire.NewKey(secret)
	if err != nil {
		return nil, usage("%s: %s: %v", flag, path, err)
	}
	return key, nil
}

// tlsConfig returns the TLS configuration for an engine, or nil without the flags.
func tlsConfig(c event.Connection, host string, named func(flag string) string) (*tls.Config, error) {
	if c.TLSCert == "" && c.TLSKey == "" && c.TLSCA == "" {
		return nil, nil
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return nil, usage("%s and %s belong together", named("tls-cert"), named("tls-key"))
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if c.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return nil, usage("%s, %s: %s", named("tls-cert"), named("tls-key"), err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if c.TLSCA != "" {
		text, err := safefile.Read(c.TLSCA, 1<<20)
		if err != nil {
			return nil, usage("%s: %s", named("tls-ca"), err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, usage("%s: %s has no certificate", named("tls-ca"), c.TLSCA)
		}
	}
	return config, nil
}

// absolute makes the paths of a connection absolute.
func absolute(c *event.Connection) error {
	for _, path := range []*string{&c.KeyFile, &c.TLSCert, &c.TLSKey, &c.TLSCA} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = abs
	}
	return nil
}

// reachTimeout bounds one call of an engine before a run.
const reachTimeout = 20 * time.Second

// reach connects with an engine and asks for its state, within a time. The error is a *usererr.BlockedError.
func reach(ctx context.Context, dial dialer, o options) (engine, temporal.Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, reachTimeout, errNotReached)
	defer cancel()
	e, err := dial(ctx, o)
	if err != nil {
		return nil, temporal.Server{}, usererr.Blocked(err)
	}
	server, err := e.Check(ctx)
	if err == nil && !server.Standalone {
		err = fmt.Errorf("the Temporal server at %s (version %s) %w", o.Address, server.Version, errOldServer)
	}
	if err != nil {
		e.Close()
		return nil, server, usererr.Blocked(err)
	}
	return e, server, nil
}

var errOldServer = errors.New("cannot run activities without workflows; wavex needs version 1.31 or later")

var errNotReached = errors.New("it did not answer in time")

// shortRetention says why a namespace may lose results before a run resumes; "": it keeps them long enough.
func shortRetention(s temporal.Server) string {
	const enough = 7 * 24 * time.Hour
	if s.Retention <= 0 || s.Retention >= enough {
		return ""
	}
	return fmt.Sprintf("the namespace keeps results for %s: a run that is resumed later finds those that workers have "+
		"pushed; set its retention to 7 days", report.FormatDuration(s.Retention))
}
