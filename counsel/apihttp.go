// This file sends a request to the Messages API and classifies its failures. It never sends again
// a request that may have been paid for: it retries only answers that say the API did no work,
// and connections that were never established. It reads no answer.

package counsel

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/hashicorp/go-cleanhttp"
	"github.com/hashicorp/go-retryablehttp"

	"wavex/runner"
)

// post sends the body, with retries. unsure reports whether the API may have worked, and charged,
// although there is no complete answer.
func (a *API) post(ctx context.Context, endpoint string,
	body []byte) (status int, reply []byte, unsure bool, err error) {
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, endpoint, body)
	if err != nil {
		return 0, nil, false, errors.New("the request cannot be built")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", apiVersion)
	req.Header.Set("X-Api-Key", a.key())

	client := &retryablehttp.Client{
		HTTPClient:   a.client(),
		Logger:       nil, // the default writes to stderr
		RetryWaitMin: a.Wait,
		RetryWaitMax: maxWait,
		RetryMax:     a.Retries,
		Backoff:      retryablehttp.DefaultBackoff,
		CheckRetry: func(ctx context.Context, resp *http.Response, err error) (bool, error) {
			unsure = err != nil && !neverSent(err)
			if ctx.Err() != nil || unsure || retryAfterTooLong(resp) {
				return false, nil
			}
			return err != nil || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500, nil
		},
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	if a.Wait <= 0 {
		client.RetryWaitMin = defaultWait
	}
	if a.Retries == 0 {
		client.RetryMax = defaultRetries
	}

	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, unsure, err
	}
	defer resp.Body.Close()
	reply, err = readAll(resp.Body)
	return resp.StatusCode, reply, err != nil && resp.StatusCode == http.StatusOK, err
}

// retryAfterTooLong reports whether the API asks for a longer pause than a panel is worth. The retry of
// the task then goes on without advice.
func retryAfterTooLong(resp *http.Response) bool {
	// With zero wait times DefaultBackoff returns the pause of Retry-After.
	return retryablehttp.DefaultBackoff(0, 0, 0, resp) > maxWait
}

// client returns the HTTP client. It follows no redirects, which would carry the key elsewhere.
func (a *API) client() *http.Client {
	c := cleanhttp.DefaultClient()
	if a.Client != nil {
		own := *a.Client
		c = &own
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// neverSent reports whether the connection failed before the request was sent.
func neverSent(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// transportFailure returns the answer to a call without a response. Its reason omits the URL, which may
// hold a password.
func transportFailure(ctx context.Context, err error) runner.Answer {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errCallTimeout), errors.Is(cause, errTimeout):
		return runner.Answer{Outcome: runner.TimedOut, Reason: cause.Error()}
	case cause != nil:
		return runner.Answer{Outcome: runner.Interrupted, Reason: "the call was stopped"}
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return runner.Answer{Outcome: runner.Throttled, Reason: "the API cannot be reached: " + err.Error()}
}

// statusFailure returns the answer to a status other than 200, classified by its number and the type of
// the error. The message is for people only.
func statusFailure(status int, reply []byte) runner.Answer {
	var e struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	reason := fmt.Sprintf("HTTP %d", status)
	if json.Unmarshal(reply, &e) == nil && e.Error.Type != "" {
		reason += " " + e.Error.Type + ": " + e.Error.Message
	}
	ans := runner.Answer{Outcome: runner.Broken, Reason: reason}
	switch {
	case status == http.StatusTooManyRequests || status >= 500:
		ans.Outcome = runner.Throttled
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusPaymentRequired:
		ans.Outcome = runner.Unauthorised
	}
	return ans
}
