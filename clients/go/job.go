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
	Callback  string        // a URL that is told of its end
}

// A Job is what became of a job. Times are RFC 3339, "" for what has not been.
type Job struct {
	ID, Queue, State string // State: queued, assigned, running; for ever ok, dead, lost, cancelled
	Attempt          int
	ExitStatus       int // -1: none
	Node             string
	Started, Ended   string
	Why, Detail      string // why it has not ended well
	Output           string
}

// HasEnded tells whether the state is for ever.
func (j *Job) HasEnded() bool {
	return j.State == "ok" || j.State == "dead" || j.State == "lost" || j.State == "cancelled"
}

// NewJobID is an id for a job to submit.
func (c *Client) NewJobID(ctx context.Context, queue string) (string, error) {
	a, err := c.ask(ctx, 0, true, "job_id", queue)
	if id := asRecord(a.result).text("id"); id != "" {
		return id, nil
	} else if err != nil && as(err).Code != Misuse {
		return "", err
	} // of a release that has no such method
	return queue + "." + strconv.FormatInt(time.Now().Unix()/60, 36) + "." + newUUID(), nil
}

// Submit submits a job; its id, once it is committed. Where an id comes with an error, submitting that
// again is safe for 10 minutes.
func (c *Client) Submit(ctx context.Context, queue string, payload []byte, o SubmitOptions) (id string, err error) {
	if len(payload) > payloadMax {
		return "", misuse("a payload has at most %d bytes: submit where it lies if it is more", payloadMax)
	}
	if id = o.ID; id == "" {
		if id, err = c.NewJobID(ctx, queue); err != nil {
			return "", err
		}
	}
	options := map[string]any{"id": id, "payload": payload}
	setMilliseconds(options, "in_ms", o.Delay)
	if !o.At.IsZero() {
		up := o.At.UTC().Add(time.Millisecond - 1).Truncate(time.Millisecond)
		options["at"] = up.Format(time.RFC3339Nano)
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
	a, err := c.ask(ctx, 0, true, "submit", queue, options)
	if other := asRecord(a.result).text("id"); other != "" {
		id = other // of the same key
	}
	return id, err
}

// Job tells what became of a job: now, or once it has ended or wait is over.
func (c *Client) Job(ctx context.Context, id string, wait time.Duration) (*Job, error) {
	params := []any{id}
	if wait > 0 {
		params = append(params, map[string]any{"wait_ms": milliseconds(wait)})
	}
	a, err := c.ask(ctx, wait, true, "job", params...)
	if err != nil {
		return nil, err
	}
	m := asRecord(a.result)
	if m.text("state") == "" {
		return nil, a.link.nonsense("a job without a state")
	}
	attempt, _ := m.count("attempt")
	j := &Job{m.text("id"), m.text("queue"), m.text("state"), int(attempt), -1, m.text("node"), m.text("started"),
		m.text("ended"), m.text("why"), m.text("detail"), m.text("output")}
	if status, ok := m.count("exit_status"); ok {
		j.ExitStatus = int(status)
	}
	return j, nil
}

// Wait waits until a job has ended, over restarts of the sidecar.
func (c *Client) Wait(ctx context.Context, id string) (j *Job, err error) {
	for err == nil && (j == nil || !j.HasEnded()) {
		err = insist(ctx, Forever, func() (err error) {
			j, err = c.Job(ctx, id, jobWait)
			return err
		})
	}
	return j, err
}

// Cancel ends a job, or has it never begin; false: it had ended already.
func (c *Client) Cancel(ctx context.Context, id string) (bool, error) {
	a, err := c.ask(ctx, 0, false, "cancel", id)
	return asRecord(a.result)["done"] == true, err
}
