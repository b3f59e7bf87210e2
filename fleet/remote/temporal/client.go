package temporal

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"wavex/fleet/remote"
	"wavex/fleet/remote/wire"
)

// Options configures a Client.
type Options struct {
	Address   string      // HOST:PORT of the server
	Namespace string      // must exist
	Key       *wire.Key   // seals all messages; nil: they are not sealed
	TLS       *tls.Config // nil: plain text, unless there is an APIKey
	APIKey    string      // of Temporal Cloud; "": none
	// Worker is told to Workers of other clients, without sealing. The zero value is for a client that serves no queue.
	Worker remote.Worker
}

// Client is a remote.Engine. Its methods are safe for concurrent use; Close must be the last call.
type Client struct {
	sdk       client.Client
	namespace string
}

var _ remote.Engine = (*Client)(nil)

// Dial connects to a server, within ctx. It does not try again. It does not check that the server has the namespace;
// Check and Serve do.
func Dial(ctx context.Context, o Options) (*Client, error) {
	data := converter.GetDefaultDataConverter()
	if o.Key != nil {
		data = converter.NewCodecDataConverter(data, seal{o.Key})
	}
	opts := client.Options{HostPort: o.Address, Namespace: o.Namespace, DataConverter: data,
		FailureConverter: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
			DataConverter: data, EncodeCommonAttributes: o.Key != nil}),
		ConnectionOptions:       client.ConnectionOptions{TLS: o.TLS},
		Logger:                  log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		WorkerHeartbeatInterval: -1} // Workers asks for pollers
	if o.APIKey != "" {
		opts.Credentials = client.NewAPIKeyStaticCredentials(o.APIKey)
	}
	if o.Worker.Name != "" {
		identity, err := json.Marshal(o.Worker)
		if err != nil {
			return nil, err
		}
		opts.Identity = string(identity)
	}
	sdk, err := client.DialContext(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("connecting to the Temporal server at %s: %w", o.Address, withRefusal(err))
	}
	return &Client{sdk, o.Namespace}, nil
}

// Close disconnects. No other method may run.
func (c *Client) Close() { c.sdk.Close() }

// Server is the state of a server and its namespace.
type Server struct {
	Version string // of the server
	// Retention is the time for which the namespace keeps the results of ended attempts.
	Retention time.Duration
	// Standalone reports whether the namespace runs activities without workflows. Attempts need that.
	Standalone bool
}

// Check asks the server for its state. The error also tells of a namespace that does not exist, or that the client may
// not use.
func (c *Client) Check(ctx context.Context) (Server, error) {
	service := c.sdk.WorkflowService()
	system, err := service.GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return Server{}, fmt.Errorf("asking the Temporal server: %w", withRefusal(err))
	}
	namespace, err := service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.namespace})
	if err != nil {
		return Server{}, fmt.Errorf("asking for the namespace %s: %w", c.namespace, withRefusal(err))
	}
	return Server{Version: system.GetServerVersion(),
		Retention:  namespace.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(),
		Standalone: namespace.GetNamespaceInfo().GetCapabilities().GetStandaloneActivities()}, nil
}

// ErrRefused says that the server does not let this client in. It will not do so later either.
var ErrRefused = errors.New("the server refuses the client")

// withRefusal adds ErrRefused to an error that means it.
func withRefusal(err error) error {
	if _, denied := errors.AsType[*serviceerror.PermissionDenied](err); denied {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// seal is a converter.PayloadCodec that seals payloads.
type seal struct{ key *wire.Key }

// sealedEncoding marks sealed payloads.
const sealedEncoding = "binary/encrypted"

// Encode seals payloads.
func (s seal) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		data, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		out[i] = &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(sealedEncoding)},
			Data: s.key.Seal("", data)}
	}
	return out, nil
}

// Decode opens payloads. Each must be sealed.
func (s seal) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != sealedEncoding {
			return nil, wire.ErrNotSealed
		}
		data, err := s.key.Open("", p.GetData())
		if err != nil {
			return nil, err
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(data, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fromIdentity returns the worker with an identity.
func fromIdentity(identity string) (w remote.Worker) {
	if json.Unmarshal([]byte(identity), &w) != nil {
		w = remote.Worker{}
	}
	w.Name = cmp.Or(w.Name, identity)
	return w
}
