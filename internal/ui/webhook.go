package ui

// This file sends messages about a run to webhooks: that a breaker tripped, and how a session of the run ended. It
// reads events and never delays or fails the run. Close gives up messages that cannot be delivered in time, and returns
// an error for them.

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-retryablehttp"

	"wavex/internal/async"
	"wavex/internal/event"
	"wavex/scheduler"
)

// Webhook is the address of a webhook.
type Webhook struct {
	URL   string
	Slack bool // it takes {"text": "..."} as Slack's incoming webhooks do
}

// ParseWebhook reads "URL" or "slack=URL". Addresses at hooks.slack.com are Slack's in both cases.
// The error does not quote the address, which may be a secret.
func ParseWebhook(s string) (Webhook, error) {
	rest, slack := strings.CutPrefix(s, "slack=")
	u, err := url.Parse(rest)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return Webhook{}, errors.New("a webhook is an http or https URL, or slack=URL")
	}
	return Webhook{URL: rest, Slack: slack || u.Hostname() == "hooks.slack.com"}, nil
}

// String returns the address without its possibly secret parts.
func (h Webhook) String() string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return "a webhook"
	}
	return u.Scheme + "://" + u.Host
}

// WebhookOptions configures a WebhookSender. The zero value is usable.
type WebhookOptions struct {
	Secret  string        // signs each body; "" means unsigned
	Timeout time.Duration // bounds one try; 0 means 5 s
	// Retries is the number of retries of a failed try, with a growing wait from Wait on; 0 means
	// 3 retries, from 500 ms.
	Retries    int
	RetryDelay time.Duration
}

// WebhookSender is a scheduler.View that sends messages to hooks.
type WebhookSender struct {
	name   string // of the plan
	queues []*webhookQueue
	stop   context.CancelCauseFunc
	opts   WebhookOptions
}

type webhookQueue struct {
	Webhook
	*async.Queue[WebhookMessage]
	client *retryablehttp.Client
	err    error // the first error; to be read after the queue was closed
}

// errCloseTimeout is the cause of a delivery that is given up at the end.
var errCloseTimeout = errors.New("no answer in time")

// NewWebhookSender starts a WebhookSender, bounded by ctx. The caller must Close it. plan is the name of the plan in
// messages.
func NewWebhookSender(ctx context.Context, plan string, hooks []Webhook, o WebhookOptions) *WebhookSender {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	s := &WebhookSender{name: plan, stop: stop, opts: o}
	for _, h := range hooks {
		q := &webhookQueue{Webhook: h, client: s.client()}
		q.Queue = async.NewQueue(func(batch []WebhookMessage) {
			for _, m := range batch {
				if err := s.deliver(ctx, q.client, h, m); q.err == nil {
					q.err = err
				}
			}
		})
		s.queues = append(s.queues, q)
	}
	return s
}

// client returns the client for one hook.
func (s *WebhookSender) client() *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.Logger = nil // the default writes to stderr
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = cmp.Or(s.opts.Retries, 3),
		cmp.Or(s.opts.RetryDelay, 500*time.Millisecond),
		5*time.Second
	c.HTTPClient.Timeout = cmp.Or(s.opts.Timeout, 5*time.Second)
	c.ErrorHandler = retryablehttp.PassthroughErrorHandler // the default handler quotes the address
	return c
}

// Event queues the message for an event, if it needs one. It never blocks.
func (s *WebhookSender) Event(e event.Event, st *scheduler.State) {
	m, ok := messageFor(e, st)
	if !ok {
		return
	}
	m.Plan = s.name
	for _, h := range s.queues {
		h.Put(m)
	}
}

// Close waits until every message is delivered or given up, and returns an error for those given
// up. It gives deliveries up after limit. The Sender must not be used afterwards.
func (s *WebhookSender) Close(limit time.Duration) error {
	late := time.AfterFunc(limit, func() { s.stop(errCloseTimeout) })
	defer late.Stop()
	var errs []error
	for _, h := range s.queues {
		h.Queue.Close()
		h.client.HTTPClient.CloseIdleConnections()
		if h.err != nil {
			errs = append(errs, fmt.Errorf("telling %s: %w", h.Webhook, h.err))
		}
	}
	s.stop(nil)
	return errors.Join(errs...)
}

// deliver posts a message, and retries after 429, 5xx and network errors.
func (s *WebhookSender) deliver(ctx context.Context, c *retryablehttp.Client, h Webhook, m WebhookMessage) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	body, err := m.body(h.Slack)
	if err != nil {
		return err
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address is not a URL") // the parser's error quotes it
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "wavex")
	req.Header.Set("X-Wavex-Event", m.Event)
	req.Header.Set("X-Wavex-Delivery", uuid.NewString())
	if s.opts.Secret != "" {
		req.Header.Set("X-Wavex-Signature", SignWebhook(s.opts.Secret, body))
	}
	res, err := c.Do(req)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // u quotes the address
	}
	if err != nil {
		return err
	}
	_ = res.Body.Close() // the body is not read
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %s", res.Status)
	}
	return nil
}

// SignWebhook returns the signature of a body: "sha256=" and the HMAC in hex, as in GitHub's webhooks.
func SignWebhook(secret string, body []byte) string {
	h := hmac.New(sha256.New, []byte(secret))
	_, _ = h.Write(body) // never fails
	return "sha256=" + hex.EncodeToString(h.Sum(nil))
}
