package temporal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"

	"wavex/fleet/remote"
	"wavex/fleet/remote/wire"
	"wavex/internal/async"
)

func testKey(t *testing.T, fill byte) *wire.Key {
	t.Helper()
	k, err := wire.NewKey(bytes.Repeat([]byte{fill}, wire.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{serviceerror.NewPermissionDenied("no", ""): true,
		serviceerror.NewUnavailable("away"): false} {
		if got := withRefusal(fmt.Errorf("asking: %w", err)); errors.Is(got, ErrRefused) != want || !errors.Is(got, err) {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}

// The server gets payloads that another key does not open, and a client takes none that is not sealed.
func TestSeal(t *testing.T) {
	t.Parallel()
	own := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), seal{testKey(t, 1)})
	other := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), seal{testKey(t, 2)})
	sealed, err := own.ToPayload([]byte("text"))
	if err != nil || strings.Contains(sealed.String(), "text") || string(sealed.Metadata["encoding"]) != sealedEncoding {
		t.Fatalf("sealed as %v: %v", sealed, err)
	}
	var got []byte
	if err := own.FromPayload(sealed, &got); err != nil || string(got) != "text" {
		t.Errorf("opened as %q: %v", got, err)
	}
	if err := other.FromPayload(sealed, &got); !errors.Is(err, wire.ErrNotSealed) {
		t.Errorf("another key: %v", err)
	}
	plain := &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("binary/plain")}, Data: []byte("text")}
	if err := own.FromPayload(plain, &got); !errors.Is(err, wire.ErrNotSealed) {
		t.Errorf("not sealed: %v", err)
	}
}

func TestDialRefuses(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the SDK would try for a while
	if _, err := Dial(ctx, Options{Address: "127.0.0.1:1"}); err == nil ||
		!strings.Contains(err.Error(), "the Temporal server at 127.0.0.1:1") {
		t.Error(err)
	}
}

func TestEndOf(t *testing.T) {
	t.Parallel()
	timeout := func(kind enums.TimeoutType) error { return temporal.NewTimeoutError(kind, nil) }
	for _, c := range []struct {
		err  error
		want remote.End
	}{
		{nil, remote.Completed},
		{fmt.Errorf("decoding: %w", wire.ErrNotSealed), remote.Completed},
		{timeout(enums.TIMEOUT_TYPE_HEARTBEAT), remote.Lost},
		{timeout(enums.TIMEOUT_TYPE_SCHEDULE_TO_START), remote.NotTaken},
		{timeout(enums.TIMEOUT_TYPE_START_TO_CLOSE), remote.TimedOut},
		{temporal.NewCanceledError(), remote.Cancelled},
		{temporal.NewApplicationError("cannot open", ""), remote.Refused},
		{serviceerror.NewNotFound("no such activity"), remote.Gone},
	} {
		if end, ok := endOf(c.err); end != c.want || !ok {
			t.Errorf("%v is %q, %t; want %q", c.err, end, ok, c.want)
		}
	}
	for _, err := range []error{context.DeadlineExceeded, serviceerror.NewUnavailable("away"), errors.New("other"),
		serviceerror.NewNamespaceNotFound("n"), serviceerror.NewDeadlineExceeded("context deadline exceeded")} {
		if end, ok := endOf(err); ok {
			t.Errorf("%v is the end %q", err, end)
		}
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	if w := fromIdentity(`{"name":"w1","slots":3,"release":"1.0"}`); w.Name != "w1" || w.Slots != 3 || w.Release != "1.0" {
		t.Errorf("got %+v", w)
	}
	if w := fromIdentity("7@host"); w != (remote.Worker{Name: "7@host"}) {
		t.Errorf("a foreign identity is %+v", w)
	}
}

// A worker that was started again with more slots is listed once.
func TestWorkersOf(t *testing.T) {
	t.Parallel()
	poller := func(identity string, seconds int64) *taskqueue.PollerInfo {
		return &taskqueue.PollerInfo{Identity: identity, LastAccessTime: &timestamppb.Timestamp{Seconds: seconds}}
	}
	got := workersOf([]*taskqueue.PollerInfo{poller("7@host", 3), poller(`{"name":"w","slots":4}`, 2),
		poller(`{"name":"w","slots":2}`, 1)})
	if len(got) != 2 || got[0].Name != "7@host" || got[1].Name != "w" || got[1].Slots != 4 {
		t.Errorf("got %+v", got)
	}
}

// farServer is a server with attempts that wait, and a delay before each answer. The methods that Busy does not call
// are nil.
type farServer struct {
	client.Client
	client.ActivityHandle
	waiting int
	delay   time.Duration
}

func (f farServer) ListActivities(context.Context, client.ListActivitiesOptions) (client.ListActivitiesResult, error) {
	return client.ListActivitiesResult{Results: func(yield func(*client.ActivityExecutionInfo, error) bool) {
		for range f.waiting {
			yield(&client.ActivityExecutionInfo{}, nil)
		}
	}}, nil
}

func (f farServer) GetActivityHandle(client.GetActivityHandleOptions) client.ActivityHandle { return f }

func (f farServer) Describe(ctx context.Context,
	_ client.DescribeActivityOptions) (*client.ActivityExecutionDescription, error) {
	return &client.ActivityExecutionDescription{}, async.Sleep(ctx, f.delay)
}

// TestBusyFarAway: Busy is quick enough for a run also if many attempts wait at a server that is far away.
func TestBusyFarAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		c := &Client{sdk: farServer{waiting: 2 * maxDescribed, delay: 200 * time.Millisecond}}
		if busy, err := c.Busy(ctx, "q"); busy || err != nil {
			t.Errorf("%t, %v", busy, err)
		}
	})
}

// limitedServer is a server that refuses to tell of the first attempt, and tells the state of the others later.
type limitedServer struct {
	farServer
	id     string // of the attempt whose handle it is
	states []enums.PendingActivityState
}

func (s limitedServer) ListActivities(context.Context,
	client.ListActivitiesOptions) (client.ListActivitiesResult, error) {
	return client.ListActivitiesResult{Results: func(yield func(*client.ActivityExecutionInfo, error) bool) {
		for i := range 1 + len(s.states) {
			yield(&client.ActivityExecutionInfo{ActivityID: strconv.Itoa(i)}, nil)
		}
	}}, nil
}

func (s limitedServer) GetActivityHandle(o client.GetActivityHandleOptions) client.ActivityHandle {
	s.id = o.ActivityID
	return s
}

func (s limitedServer) Describe(ctx context.Context,
	_ client.DescribeActivityOptions) (*client.ActivityExecutionDescription, error) {
	i, err := strconv.Atoi(s.id)
	if err != nil {
		return nil, err
	}
	if i == 0 {
		return nil, errLimited
	}
	if err := async.Sleep(ctx, time.Duration(i)*s.delay); err != nil {
		return nil, err
	}
	return &client.ActivityExecutionDescription{RunState: s.states[i-1]}, nil
}

var errLimited = serviceerror.NewResourceExhausted(enums.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT, "too many requests")

// An attempt that a worker makes counts also if the server has refused to tell of another, and ends the search.
func TestBusyWithARefusal(t *testing.T) {
	t.Parallel()
	const waits, started = enums.PENDING_ACTIVITY_STATE_SCHEDULED, enums.PENDING_ACTIVITY_STATE_STARTED
	for name, c := range map[string]struct {
		states []enums.PendingActivityState
		busy   bool
		err    error
		took   time.Duration
	}{
		"started":   {[]enums.PendingActivityState{started, waits, waits}, true, nil, time.Second},
		"all wait":  {[]enums.PendingActivityState{waits, waits}, false, errLimited, 2 * time.Second},
		"no others": {nil, false, errLimited, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				engine := &Client{sdk: limitedServer{farServer: farServer{delay: time.Second}, states: c.states}}
				busy, err := engine.Busy(t.Context(), "q")
				if took := time.Since(began); busy != c.busy || !errors.Is(err, c.err) || took != c.took {
					t.Errorf("%t, %v after %s", busy, err, took)
				}
			})
		})
	}
}
