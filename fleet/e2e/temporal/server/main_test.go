// Package server_test is a Temporal server in memory for the tests beside it, as a test binary: until its input ends.
// It says its address and its namespace. With --ip ADDRESS among its arguments it is the development server of the
// temporal CLI: it also listens at port 7233 of that address, and has the namespace default. It is a module of its own,
// because its dependencies and those of wavex exclude each other.
package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/temporaltest"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TestMain is the server. There are no tests.
func TestMain(*testing.M) {
	s := temporaltest.NewServer()
	if i := slices.Index(os.Args, "--ip"); i > 0 && i+1 < len(os.Args) {
		if err := develop(s.GetFrontendHostPort(), net.JoinHostPort(os.Args[i+1], "7233")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	fmt.Println(s.GetFrontendHostPort(), s.GetDefaultNamespace())
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		os.Exit(1)
	}
}

// develop makes the namespace default of the server at an address, and lets connections at another address reach it.
func develop(server, address string) error {
	c, err := client.NewNamespaceClient(client.Options{HostPort: server})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = c.Register(ctx, &workflowservice.RegisterNamespaceRequest{Namespace: "default",
		WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err == nil {
		go forward(l, server)
	}
	return err
}

// forward connects each connection with a server.
func forward(l net.Listener, server string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", server)
		if err != nil {
			_ = in.Close()
			continue
		}
		for _, c := range [][2]net.Conn{{in, out}, {out, in}} {
			go func() {
				_, _ = io.Copy(c[0], c[1])
				_, _ = c[0].Close(), c[1].Close()
			}()
		}
	}
}
