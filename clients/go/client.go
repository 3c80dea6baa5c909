// Package zkleader asks the zkleader sidecar of this host: whether this node leads a task, scopes and
// runs under its leadership, what changes in the fleet, and jobs of queues.
//
// A lease counts from before its question was sent, by a clock that goes on while the machine is
// suspended. So an answer that a stopped program holds is not true when it wakes.
package zkleader

import (
	"context"
	"math"
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
const Forever = time.Duration(math.MaxInt64)

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
	ctx     context.Context // done when the client is closed
	cancel  context.CancelFunc

	mu   sync.Mutex // held briefly, but while a connection is made
	link *link      // of the questions
}

// New makes a Client.
func New(o Options) *Client {
	for _, socket := range []string{os.Getenv("ZKLEADER_SOCKET"), defaultSocket} {
		if o.Socket == "" {
			o.Socket = socket
		}
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	c := &Client{options: o}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Close ends all that goes on: questions fail, watches end, leases are lost.
func (c *Client) Close() {
	c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != nil {
		c.link.end(cannotTell(closed, nil, "the client is closed"))
	}
}

// bind is a context that also ends with the client.
func (c *Client) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	bound, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-c.ctx.Done():
			cancel()
		case <-bound.Done():
		}
	}()
	return bound, cancel
}

// connected is the connection of the questions.
func (c *Client) connected(ctx context.Context) (l *link, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, cannotTell(closed, nil, "the client is closed")
	}
	if c.link == nil || !c.link.isOpen() {
		if l, err = c.dial(ctx, nil); err != nil {
			return nil, err
		}
		c.link = l
	}
	return c.link, nil
}

// ask asks. What is repeatable is sent once more, if its connection ends before the answer.
func (c *Client) ask(ctx context.Context, wait time.Duration, repeatable bool, method string, params ...any) (answer, error) {
	l, err := c.connected(ctx)
	if err != nil {
		return answer{}, err
	}
	a, err := l.call(ctx, wait, method, params...)
	if err != nil && as(err).kind == cut && repeatable {
		return c.ask(ctx, wait, false, method, params...)
	}
	return a, err
}

// Call calls any method of docs/PROTOCOL.md, and sends nothing twice. Parameters are nil, bool, int,
// int64, uint64, string, []byte, []any and map[string]any; so are results, with integers as int64, or
// uint64 beyond that.
func (c *Client) Call(ctx context.Context, method string, params ...any) (any, error) {
	a, err := c.ask(ctx, 0, false, method, params...)
	return a.result, err
}

// Leads asks whether this node leads the task. While nobody does, the answer waits up to 1 s for that.
func (c *Client) Leads(ctx context.Context, task string) (*Answer, error) {
	return c.LeadsWithin(ctx, task, settleTime)
}

// LeadsWithin is Leads with another time to wait, at most 24 h.
func (c *Client) LeadsWithin(ctx context.Context, task string, wait time.Duration) (*Answer, error) {
	params := []any{task}
	if wait < 0 || wait > waitMax {
		return nil, misuse("a wait is from 0 to 24 h")
	} else if wait > 0 {
		params = append(params, milliseconds(wait))
	}
	a, err := c.ask(ctx, wait, true, "check", params...)
	if err != nil {
		return nil, err
	}
	return newAnswer(task, a)
}

// milliseconds are whole ones, rounded up.
func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// Leading calls f once this node leads the task, and returns what f returns. It waits up to wait for
// that (Forever: as long as it takes), or until ctx is done. The context that f gets is done when
// leadership is lost, at least 100 ms before the lease is over, or ctx is.
func (c *Client) Leading(ctx context.Context, task string, wait time.Duration, f func(context.Context, *Lease) error) error {
	ctx, cancel := c.bind(ctx)
	defer cancel()
	first, err := c.enter(ctx, task, wait)
	if err != nil {
		return err
	}
	l := &Lease{Task: task, Token: first.Token, cancel: cancel, term: first.term}
	l.ask = func(ctx context.Context) (term, error) {
		a, err := c.LeadsWithin(ctx, task, 0)
		if err != nil {
			return term{}, err
		} else if !a.term.leads || a.Token != l.Token {
			return term{}, &Error{NotLeader, a.Why, answered, nil}
		}
		return a.term, nil
	}
	defer l.end("leadership was left", closed)
	go l.keep(ctx)
	return f(ctx, l)
}

// enter waits until this node leads.
func (c *Client) enter(ctx context.Context, task string, wait time.Duration) (*Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin, news := time.Now(), make(chan struct{}, 1)
	tell := func(string, record) {
		select {
		case news <- struct{}{}:
		default: // it is known already that there are some
		}
	}
	var once sync.Once
	var pauses backoff
	for {
		pause := lookTime
		a, err := c.LeadsWithin(ctx, task, within(settleTime, wait-time.Since(begin)))
		if err == nil && a.term.isEnough() {
			return a, nil
		} else if err == nil {
			err, pauses = &Error{a.code(), a.Why, answered, nil}, backoff{}
			once.Do(func() { go c.subscribe(ctx, []any{task, map[string]any{"mine": true}}, tell) })
		} else if as(err).Code != CannotTell || ctx.Err() != nil {
			return nil, err
		} else {
			pause = pauses.next()
		}
		left := wait - time.Since(begin)
		if left <= 0 {
			return nil, err
		}
		select {
		case <-news:
		case <-time.After(within(pause, left)):
		case <-ctx.Done():
		}
	}
}

// within is d, or left if that is less, and never less than 0.
func within[T int | time.Duration](d, left T) T {
	if left < d {
		d = left
	}
	if d < 0 {
		return 0
	}
	return d
}
