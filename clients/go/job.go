package zkleader

import (
	"context"
	"strconv"
	"time"
)

const (
	payloadMax = 16384
	jobWait    = time.Hour // of one request; then it is sent anew
)

// SubmitOptions of Client.Submit.
type SubmitOptions struct {
	ID        string        // of an earlier attempt, or from NewJobID; "": one is chosen
	At        time.Time     // when it is due; zero: at once
	Delay     time.Duration // likewise
	Key       string        // the job of that key that is kept takes the place of this one
	WhileOpen bool          // the key counts only until its job has ended
	Callback  string
}

// A Job is what became of a job. Times are RFC 3339, "" for what has not been.
type Job struct {
	ID, Queue, State           string // State: queued, assigned, running; ok, dead, lost, cancelled
	Attempt                    int
	ExitStatus                 int // -1: none
	Key, By, Host, Node        string
	Submitted, Due, Start, End string
	Why, Detail, Output        string
}

// HasEnded tells whether the state is for ever.
func (j *Job) HasEnded() bool {
	return j.State == "ok" || j.State == "dead" || j.State == "lost" || j.State == "cancelled"
}

// NewJobID is an id for a job to submit.
func (c *Client) NewJobID(ctx context.Context, queue string) (string, error) {
	r, err := c.link.call(ctx, 0, true, "job_id", queue)
	if err == nil {
		if m, _ := asRecord(r.result); m.text("id") != "" {
			return m.text("id"), nil
		}
	} else if err.Code != Misuse {
		return "", err
	} // of a release that has no such method
	return queue + "." + strconv.FormatInt(time.Now().Unix()/60, 36) + "." + newUUID(), nil
}

// Submit submits a job; its id, once it is committed. Where an id comes with an error, submitting that
// again is safe for 10 minutes.
func (c *Client) Submit(ctx context.Context, queue string, payload []byte, o SubmitOptions) (string, error) {
	if len(payload) > payloadMax {
		return "", misuse("a payload has at most %d bytes: submit where it lies if it is more", payloadMax)
	}
	if o.ID == "" {
		id, err := c.NewJobID(ctx, queue)
		if err != nil {
			return "", err
		}
		o.ID = id
	}
	options := map[string]any{"id": o.ID, "payload": payload}
	setMilliseconds(options, "in_ms", o.Delay)
	if !o.At.IsZero() {
		options["at"] = o.At.UTC().Format(time.RFC3339)
	}
	if o.Key != "" {
		options["key"] = o.Key
	}
	if o.WhileOpen {
		options["while"] = "open"
	}
	if o.Callback != "" {
		options["callback"] = o.Callback
	}
	r, err := c.link.call(ctx, 0, true, "submit", queue, options)
	if err != nil {
		return o.ID, err
	}
	if m, _ := asRecord(r.result); m.text("id") != "" {
		return m.text("id"), nil // another's, of the same key
	}
	return o.ID, nil
}

// Job tells what became of a job: now, or once it has ended or wait is over.
func (c *Client) Job(ctx context.Context, id string, wait time.Duration) (*Job, error) {
	j, err := c.job(ctx, id, wait)
	return j, fault(err)
}

func (c *Client) job(ctx context.Context, id string, wait time.Duration) (*Job, *Error) {
	params := []any{id}
	if wait > 0 {
		params = append(params, map[string]any{"wait_ms": milliseconds(wait)})
	}
	r, err := c.link.call(ctx, wait, true, "job", params...)
	if err != nil {
		return nil, err
	}
	m, _ := asRecord(r.result)
	if m.text("state") == "" {
		err = senseless("a job without a state")
		c.link.hangUp(err)
		return nil, err
	}
	attempt, _ := m.count("attempt")
	status := -1
	if n, ok := m.count("exit_status"); ok {
		status = int(n)
	}
	return &Job{m.text("id"), m.text("queue"), m.text("state"), int(attempt), status, m.text("key"), m.text("by"),
		m.text("host"), m.text("node"), m.text("submitted"), m.text("due"), m.text("started"), m.text("ended"),
		m.text("why"), m.text("detail"), m.text("output")}, nil
}

// Wait waits until a job has ended, over restarts of the sidecar.
func (c *Client) Wait(ctx context.Context, id string) (*Job, error) {
	var pauses backoff
	for {
		j, err := c.job(ctx, id, jobWait)
		if err != nil && !err.isAway() {
			return nil, err
		} else if err == nil && j.HasEnded() {
			return j, nil
		}
		if !sleep(ctx, pauses.next()) {
			return nil, done(ctx)
		}
	}
}

// Cancel ends a job, or has it never begin; false: it had ended already.
func (c *Client) Cancel(ctx context.Context, id string) (bool, error) {
	r, err := c.link.call(ctx, 0, false, "cancel", id)
	m, _ := asRecord(r.result)
	isDone, _ := m.flag("done")
	return isDone, fault(err)
}
