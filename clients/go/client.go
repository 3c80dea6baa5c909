// Package zkleader asks the zkleader sidecar of this host: whether this node leads a task, scopes and
// runs under its leadership, what changes in the fleet, and jobs of queues.
//
// A lease counts from before its question was sent, by a clock that goes on while the machine is
// suspended. So an answer that a stopped program holds is not true when it wakes.
package zkleader

import (
	"context"
	"os"
	"sync"
	"time"
)

const (
	defaultSocket  = "/run/zkleader/zkleader.sock"
	defaultTimeout = 5 * time.Second
	settleTime     = time.Second     // how long Leads waits for an election, as zkleader-check does
	lookTime       = 5 * time.Second // between questions while another leads, beside the news of that
	waitMax        = 24 * time.Hour  // that the sidecar takes
)

// Forever is a wait without an end.
const Forever = forever

// Options of a Client.
type Options struct {
	Socket  string        // the sidecar's; "": that in ZKLEADER_SOCKET, or /run/zkleader/zkleader.sock
	Timeout time.Duration // for an answer, beside the time that a question may wait; 0: 5 s
}

// A Client asks a sidecar. All that it asks goes over one connection, which is made when it is first
// needed, and anew when it was lost; watches and runs have their own. It is for any number of
// goroutines.
type Client struct {
	options Options
	link    *link
	done    chan struct{} // closed with the client
	once    sync.Once
}

// New makes a Client.
func New(o Options) *Client {
	if o.Socket == "" {
		o.Socket = os.Getenv("ZKLEADER_SOCKET")
	}
	if o.Socket == "" {
		o.Socket = defaultSocket
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	c := &Client{options: o, done: make(chan struct{})}
	c.link = c.newLink()
	return c
}

func (c *Client) newLink() *link { return newLink(c.options.Socket, c.options.Timeout) }

// Close ends all that goes on: questions fail, watches end, leases are lost.
func (c *Client) Close() {
	c.once.Do(func() { close(c.done) })
	c.link.close()
}

// bind is a context that also ends with the client.
func (c *Client) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	bound, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-c.done:
			cancel()
		case <-bound.Done():
		}
	}()
	return bound, cancel
}

// isClosed tells whether Close was called.
func (c *Client) isClosed() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Call calls any method of docs/PROTOCOL.md, and sends nothing twice. Parameters are nil, bool, int,
// int64, uint64, float64, string, []byte, []any and map[string]any; so are results, with integers as
// int64, or uint64 beyond that.
func (c *Client) Call(ctx context.Context, method string, params ...any) (any, error) {
	r, err := c.link.call(ctx, 0, false, method, params...)
	return r.result, fault(err)
}

// fault is a *Error as an error: nil stays nil.
func fault(err *Error) error {
	if err == nil {
		return nil
	}
	return err
}

// Leads asks whether this node leads the task. While nobody does, the answer waits up to 1 s for that.
func (c *Client) Leads(ctx context.Context, task string) (*Answer, error) {
	return c.LeadsWithin(ctx, task, settleTime)
}

// LeadsWithin is Leads with another time to wait.
func (c *Client) LeadsWithin(ctx context.Context, task string, wait time.Duration) (*Answer, error) {
	a, err := c.check(ctx, task, wait)
	return a, fault(err)
}

func (c *Client) check(ctx context.Context, task string, wait time.Duration) (*Answer, *Error) {
	if wait < 0 || wait > waitMax {
		return nil, misuse("a wait is from 0 to 24 h")
	}
	params := []any{task}
	if wait > 0 {
		params = append(params, milliseconds(wait))
	}
	r, err := c.link.call(ctx, wait, true, "check", params...)
	if err != nil {
		return nil, err
	}
	a, err := newAnswer(task, r)
	if err != nil {
		c.link.hangUp(err)
	}
	return a, err
}

// milliseconds are whole ones, rounded up.
func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// Leading calls f once this node leads the task, and returns what f returns. It waits up to wait for
// that (Forever: as long as it takes), or until ctx is done. The context that f gets is done when
// leadership is lost, at least 100 ms before the lease is over, or ctx is.
func (c *Client) Leading(ctx context.Context, task string, wait time.Duration,
	f func(context.Context, *Lease) error) error {
	ctx, cancel := c.bind(ctx)
	defer cancel()
	first, err := c.enter(ctx, task, wait)
	if err != nil {
		return err
	}
	l := &Lease{Task: task, Token: first.Token, cancel: cancel, term: first.term}
	l.ask = func(ctx context.Context) (term, *Error) {
		a, err := c.check(ctx, task, 0)
		if err != nil {
			return term{}, err
		}
		a.term.leads = a.term.leads && a.Token == l.Token
		return a.term, nil
	}
	defer l.leave()
	go l.keep(ctx)
	return f(ctx, l)
}

// enter waits until this node leads.
func (c *Client) enter(ctx context.Context, task string, wait time.Duration) (*Answer, *Error) {
	var pauses backoff
	news := make(chan struct{}, 1)
	subscribed := false
	timer := time.NewTimer(wait)
	defer timer.Stop()
	begin := time.Now()
	for {
		settle := settleTime
		if left := wait - time.Since(begin); left < settle {
			settle = left
		}
		if settle < 0 {
			settle = 0
		}
		pause := lookTime
		a, err := c.check(ctx, task, settle)
		if err == nil {
			if a.term.isEnough() {
				return a, nil
			}
			pauses = backoff{}
			err = &Error{Code: a.code(), Message: a.Why, kind: answered}
			if !subscribed {
				subscribed = true
				following, cancel := context.WithCancel(ctx)
				defer cancel()
				go c.subscribe(following, []any{task, map[string]any{"mine": true}}, func(string, record) { poke(news) })
			}
		} else if err.Code != CannotTell || ctx.Err() != nil || c.isClosed() {
			return nil, err
		} else {
			pause = pauses.next()
		}
		if time.Since(begin) >= wait {
			return nil, err
		}
		look := time.NewTimer(pause)
		select {
		case <-news:
		case <-look.C:
		case <-timer.C:
		case <-ctx.Done():
		}
		look.Stop()
	}
}

// code says why this node does not lead, as zkleader-check does.
func (a *Answer) code() int {
	switch {
	case a.State != "disconnected" && a.Leader != "":
		return NotLeader
	case a.State == "paused" || a.State == "drained":
		return Nobody
	}
	return CannotTell
}

// poke wakes who waits for the channel, which holds one.
func poke(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
