package zkleader

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"math/rand"
	"net"
	"sync"
	"syscall"
	"time"
)

const (
	requestMax  = 64 << 10 // bytes of a request that the sidecar takes
	inFlightMax = 900      // requests; the sidecar ends a connection with more than 1,000 that wait
	firstPause  = 50 * time.Millisecond
	lastPause   = time.Second
	forever     = time.Duration(math.MaxInt64)
)

// A backoff gives the pauses before a sidecar is tried again: from 50 ms to 1 s, with a little chance.
type backoff struct{ last time.Duration }

func (b *backoff) next() time.Duration {
	if b.last *= 2; b.last == 0 {
		b.last = firstPause
	} else if b.last > lastPause {
		b.last = lastPause
	}
	return b.last*9/10 + time.Duration(rand.Int63n(int64(b.last/5)))
}

// sleep waits; false: the context was done before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// done is the error of a context.
func done(ctx context.Context) *Error { return cannotTell(closed, ctx.Err(), "%v", ctx.Err()) }

// A link is a connection to a sidecar: made when it is first needed, and anew when it is needed again
// after it has ended.
type link struct {
	path    string
	timeout time.Duration
	notify  func(method string, params record) // called with each notification, by who reads
	turns   chan struct{}                      // of what is in flight

	mu     sync.Mutex
	conn   *conn // nil: none yet
	closed bool
	serial int // how many connections there have been
}

// A conn is one connection.
type conn struct {
	link   *link
	serial int
	socket net.Conn
	writes sync.Mutex    // held by who writes
	ended  chan struct{} // closed with it

	mu      sync.Mutex // held briefly, never by who waits
	err     *Error     // why it has ended
	lastID  uint32
	pending map[uint32]chan answer
}

type answer struct {
	result any
	err    *Error
}

// A reply is the result of a call, and when that was sent.
type reply struct {
	result any
	sent   time.Duration
}

func newLink(path string, timeout time.Duration) *link {
	return &link{path: path, timeout: timeout, turns: make(chan struct{}, inFlightMax)}
}

// get is the connection.
func (l *link) get(ctx context.Context) (*conn, *Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, clientClosed()
	}
	if l.conn != nil && l.conn.why() == nil {
		return l.conn, nil
	}
	socket, err := (&net.Dialer{Timeout: l.timeout}).DialContext(ctx, "unix", l.path)
	if err != nil {
		var errno syscall.Errno
		if errors.As(err, &errno) {
			return nil, cannotTell(away, err, "no sidecar answers on %s: %v", l.path, errno)
		}
		return nil, cannotTell(away, err, "no sidecar answers: %v", err)
	}
	l.serial++
	l.conn = &conn{link: l, serial: l.serial, socket: socket, ended: make(chan struct{}), pending: map[uint32]chan answer{}}
	go l.conn.read()
	return l.conn, nil
}

// close ends the connection for good.
func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	c := l.conn
	l.mu.Unlock()
	if c != nil {
		c.fail(clientClosed())
	}
}

// hangUp ends the present connection.
func (l *link) hangUp(err *Error) {
	l.mu.Lock()
	c := l.conn
	l.mu.Unlock()
	if c != nil {
		c.fail(err)
	}
}

// isOn tells whether the connection of that number is the present one.
func (l *link) isOn(serial int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn != nil && l.serial == serial && l.conn.why() == nil
}

// ended waits for the end of the present connection.
func (l *link) ended(ctx context.Context) {
	l.mu.Lock()
	c := l.conn
	l.mu.Unlock()
	select {
	case <-c.ended:
	case <-ctx.Done():
	}
}

// call asks; the sidecar may take wait beside the timeout. Where it is repeatable it is sent once
// more, if its connection ends before the answer.
func (l *link) call(ctx context.Context, wait time.Duration, repeatable bool, method string, params ...any) (reply, *Error) {
	for {
		c, err := l.get(ctx)
		if err != nil {
			return reply{}, err
		}
		r, err := c.call(ctx, wait, method, params)
		if err == nil || err.kind != cut || !repeatable {
			return r, err
		}
		repeatable = false
	}
}

func (c *conn) call(ctx context.Context, wait time.Duration, method string, params []any) (reply, *Error) {
	select {
	case c.link.turns <- struct{}{}:
		defer func() { <-c.link.turns }()
	case <-ctx.Done():
		return reply{}, done(ctx)
	}
	answers := make(chan answer, 1)
	id, sent, err := c.send(method, params, answers)
	if err != nil {
		return reply{}, err
	}
	var over <-chan time.Time
	if wait < forever {
		timer := time.NewTimer(c.link.timeout + wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case a := <-answers:
		return reply{a.result, sent}, a.err
	case <-over:
		err = cannotTell(late, nil, "the sidecar on %s did not answer in time", c.link.path)
	case <-ctx.Done():
		err = done(ctx)
	}
	c.settle(id)
	return reply{}, err
}

// send sends a request, whose answer comes to answers.
func (c *conn) send(method string, params []any, answers chan answer) (id uint32, sent time.Duration, err *Error) {
	c.writes.Lock()
	defer c.writes.Unlock()
	c.mu.Lock()
	for id == 0 || c.pending[id] != nil {
		c.lastID++
		id = c.lastID
	}
	frame, failure := appendValue(make([]byte, 0, 256), []any{0, int64(id), method, params})
	switch {
	case failure != nil:
		err = misuse("%s: %v", method, failure)
	case len(frame) > requestMax:
		err = misuse("%s: a request of more than 64 KiB", method)
	default:
		err = c.err
	}
	if err == nil {
		c.pending[id] = answers
	}
	c.mu.Unlock()
	if err != nil {
		return 0, 0, err
	}
	sent = now()
	_ = c.socket.SetWriteDeadline(time.Now().Add(c.link.timeout))
	if _, failure = c.socket.Write(frame); failure != nil {
		c.fail(c.hangUp(failure)) // which answers this request as well
	}
	return id, sent, nil
}

// settle forgets a request: where its answer goes, or nil.
func (c *conn) settle(id uint32) chan answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	answers := c.pending[id]
	delete(c.pending, id)
	return answers
}

// why is why the connection has ended; nil: it has not.
func (c *conn) why() *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *conn) hangUp(cause error) *Error {
	return cannotTell(cut, cause, "the sidecar on %s has closed the connection", c.link.path)
}

// fail ends the connection, and with it what was asked on it.
func (c *conn) fail(err *Error) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return err
	}
	c.err = err
	c.socket.Close()
	for id, answers := range c.pending {
		delete(c.pending, id)
		answers <- answer{err: err}
	}
	close(c.ended)
	return err
}

func (c *conn) read() {
	d := decoder{r: bufio.NewReaderSize(c.socket, 16<<10)}
	for {
		message, err := d.next()
		if err == nil {
			err = c.take(message)
		}
		if errors.Is(err, errMalformed) {
			c.fail(senseless(err.Error()))
			return
		} else if err != nil {
			if err == io.EOF {
				err = nil
			}
			c.fail(c.hangUp(err))
			return
		}
	}
}

func (c *conn) take(message any) error {
	parts, _ := message.([]any)
	switch {
	case len(parts) == 3 && parts[0] == int64(2):
		method, ok := parts[1].(string)
		params, isList := parts[2].([]any)
		if !ok || !isList {
			return malformed("a notification of no known form")
		}
		if c.link.notify != nil && len(params) > 0 {
			if params, ok := asRecord(params[0]); ok {
				c.link.notify(method, params)
			}
		}
		return nil
	case len(parts) == 4 && parts[0] == int64(1):
		id, ok := parts[1].(int64)
		if !ok || id < 0 || id > math.MaxUint32 {
			return malformed("an answer to nothing")
		}
		a := answer{result: parts[3]}
		if parts[2] != nil {
			refusal, _ := asRecord(parts[2])
			code, ok := refusal.count("code")
			text, isText := refusal["message"].(string)
			if !ok || !isText || code > math.MaxUint8 {
				return malformed("an error without code and message")
			}
			a = answer{err: &Error{Code: int(code), Message: text, kind: answered}}
		}
		if id == 0 && a.err != nil {
			c.fail(senseless(a.err.Message)) // it did not understand us, and hangs up
		}
		if answers := c.settle(uint32(id)); answers != nil { // else it has timed out
			answers <- a
		}
		return nil
	}
	return malformed("a message of no known form")
}
