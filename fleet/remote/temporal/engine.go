package temporal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"wavex/fleet/remote"
	"wavex/fleet/remote/wire"
)

// This file is the engine as the machine of the run sees it.

// activityType is the name of the only activity.
const activityType = "attempt"

// Start starts an attempt, unless one with its id was started in the retention of the namespace.
func (c *Client) Start(ctx context.Context, a remote.Activity) error {
	_, err := c.sdk.ExecuteActivity(ctx, client.StartActivityOptions{ID: a.ID, TaskQueue: a.Queue,
		ScheduleToStartTimeout: a.Limits.Queue, StartToCloseTimeout: a.Limits.Run, HeartbeatTimeout: a.Limits.Heartbeat,
		ActivityIDConflictPolicy: enums.ACTIVITY_ID_CONFLICT_POLICY_USE_EXISTING,
		ActivityIDReusePolicy:    enums.ACTIVITY_ID_REUSE_POLICY_REJECT_DUPLICATE,
		RetryPolicy:              &temporal.RetryPolicy{MaximumAttempts: 1}}, activityType, a.Request)
	if _, ended := errors.AsType[*serviceerror.ActivityExecutionAlreadyStarted](err); ended {
		return nil
	}
	return err
}

func (c *Client) handle(id string) client.ActivityHandle {
	return c.sdk.GetActivityHandle(client.GetActivityHandleOptions{ActivityID: id})
}

// Wait waits for the end of an attempt. If the result is not sealed with the key of the client, it is nil. The error
// may come long before ctx ends: the SDK gives up a server that is away for a minute.
func (c *Client) Wait(ctx context.Context, id string) (result []byte, end remote.End, err error) {
	err = c.handle(id).Get(ctx, &result)
	end, ended := endOf(err)
	if !ended {
		return nil, "", err
	}
	return result, end, nil
}

// endOf returns the end of an attempt that the error of its handle tells. ok is false if it tells none.
func endOf(err error) (end remote.End, ok bool) {
	if err == nil || errors.Is(err, wire.ErrNotSealed) {
		return remote.Completed, true
	}
	if timeout, is := errors.AsType[*temporal.TimeoutError](err); is {
		switch timeout.TimeoutType() {
		case enums.TIMEOUT_TYPE_HEARTBEAT:
			return remote.Lost, true
		case enums.TIMEOUT_TYPE_SCHEDULE_TO_START:
			return remote.NotTaken, true
		}
		return remote.TimedOut, true
	}
	if _, is := errors.AsType[*temporal.CanceledError](err); is {
		return remote.Cancelled, true
	}
	if _, is := errors.AsType[*temporal.TerminatedError](err); is {
		return remote.Ended, true
	}
	if _, is := errors.AsType[*temporal.ApplicationError](err); is { // the SDK of the worker could not open the request
		return remote.Refused, true
	}
	return remote.Gone, isNotFound(err)
}

func isNotFound(err error) bool {
	_, is := errors.AsType[*serviceerror.NotFound](err)
	return is
}

// Progress returns the last message of an attempt; nil: there is none.
func (c *Client) Progress(ctx context.Context, id string) (message []byte, err error) {
	d, err := c.handle(id).Describe(ctx, client.DescribeActivityOptions{IncludeHeartbeatDetails: true})
	switch {
	case isNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !d.HasHeartbeatDetails():
		return nil, nil
	}
	err = d.GetHeartbeatDetails(&message)
	return message, err
}

// Cancel asks the worker of an attempt to stop it. It returns nil if the attempt has ended or is unknown.
func (c *Client) Cancel(ctx context.Context, id, reason string) error {
	err := c.handle(id).Cancel(ctx, client.CancelActivityOptions{Reason: reason})
	if isNotFound(err) {
		return nil
	}
	return err
}

// Workers returns the workers that have asked for attempts of a queue in the last minutes, by name. A worker that was
// killed stays among them for these minutes, see Worker.Seen.
func (c *Client) Workers(ctx context.Context, queue string) ([]remote.Worker, error) {
	d, err := c.sdk.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_ACTIVITY)
	if err != nil {
		return nil, err
	}
	return workersOf(d.GetPollers()), nil
}

// maxDescribed bounds the attempts that Busy looks at, and describedAtOnce those at the same time.
const (
	maxDescribed    = 200
	describedAtOnce = 20
)

// Busy reports whether a worker makes an attempt of a queue, or of one whose name goes on with a dot. It looks at the
// oldest ones first: those that wait are given up in time.
func (c *Client) Busy(ctx context.Context, queue string) (bool, error) {
	query := fmt.Sprintf("ExecutionStatus = 'Running' AND (TaskQueue = '%s' OR TaskQueue STARTS_WITH '%[1]s.')", queue)
	list, err := c.sdk.ListActivities(ctx, client.ListActivitiesOptions{Query: query})
	if err != nil {
		return false, err
	}
	var open []*client.ActivityExecutionInfo
	for info, err := range list.Results {
		if err != nil {
			return false, err
		}
		open = append(open, info)
	}
	slices.SortFunc(open, func(a, b *client.ActivityExecutionInfo) int { return a.ScheduleTime.Compare(b.ScheduleTime) })
	ctx, found := context.WithCancel(ctx)
	defer found()
	var busy atomic.Bool
	var looks errgroup.Group // without a context: an attempt that the server does not tell of hides no other
	looks.SetLimit(describedAtOnce)
	for _, info := range open[:min(len(open), maxDescribed)] {
		looks.Go(func() error {
			d, err := c.handle(info.ActivityID).Describe(ctx, client.DescribeActivityOptions{})
			switch {
			case isNotFound(err):
			case err != nil:
				return err
			case d.RunState == enums.PENDING_ACTIVITY_STATE_STARTED, d.RunState == enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED:
				busy.Store(true)
				found()
			}
			return nil
		})
	}
	if err = looks.Wait(); busy.Load() {
		return true, nil
	}
	return false, err
}

// workersOf returns the workers behind pollers, by name. One that was started again with another release or other slots
// has two pollers for some minutes: the newer one counts.
func workersOf(pollers []*taskqueue.PollerInfo) []remote.Worker {
	all := map[string]remote.Worker{}
	for _, p := range pollers {
		w := fromIdentity(p.GetIdentity())
		w.Seen = p.GetLastAccessTime().AsTime()
		if old, known := all[w.Name]; !known || w.Seen.After(old.Seen) {
			all[w.Name] = w
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b remote.Worker) int { return strings.Compare(a.Name, b.Name) })
}
