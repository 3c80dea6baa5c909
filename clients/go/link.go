package zkleader

import (
	"bufio"
	"context"
	"errors"
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
)

// A backoff gives the pauses before a sidecar is tried again: from 50 ms to 1 s, with a little chance.
type backoff struct{ last time.Duration }

func (b *backoff) next() time.Duration {
	if b.last = within(lastPause, 2*b.last); b.last == 0 {
		b.last = firstPause
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

// A link is a connection to a sidecar, until that ends.
type link struct {
	socket  net.Conn
	timeout time.Duration
	notify  func(method string, params record) // called with each notification, by who reads; or nil
	turns   chan struct{}                      // of what is in flight
	ended   chan struct{}                      // closed once nothing is read any more
	writes  sync.Mutex                         // held by who writes

	mu      sync.Mutex
	err     *Error // once it has ended
	lastID  int64
	pending map[int64]chan answer
}

// An answer is the result of a call, when that was sent, and on which connection.
type answer struct {
	result any
	sent   time.Duration
	link   *link
	err    error
}

// dial makes a connection.
func (c *Client) dial(ctx context.Context, notify func(string, record)) (*link, error) {
	socket, err := (&net.Dialer{Timeout: c.options.Timeout}).DialContext(ctx, "unix", c.options.Socket)
	if err != nil {
		why := err
		var errno syscall.Errno
		if errors.As(err, &errno) {
			why = errno
		}
		return nil, cannotTell(away, err, "no sidecar answers on %s: %v", c.options.Socket, why)
	}
	l := &link{socket: socket, timeout: c.options.Timeout, notify: notify, turns: make(chan struct{}, inFlightMax),
		ended: make(chan struct{}), pending: map[int64]chan answer{}}
	go l.read()
	return l, nil
}

// end ends the connection, and with it what was asked on it.
func (l *link) end(err *Error) *Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
		l.socket.Close()
		for _, to := range l.pending {
			to <- answer{err: err}
		}
		l.pending = nil
	}
	return err
}

// nonsense ends the connection for what was wrong in an answer.
func (l *link) nonsense(why string) *Error {
	return l.end(cannotTell(nonsense, nil, "the answer of the sidecar makes no sense: %s", why))
}

// hangUp ends the connection; what was asked may be asked again.
func (l *link) hangUp(cause error) {
	l.end(cannotTell(cut, cause, "the sidecar on %s has closed the connection", l.socket.RemoteAddr()))
}

func (l *link) isOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err == nil
}

// call asks; the sidecar may take wait beside the timeout.
func (l *link) call(ctx context.Context, wait time.Duration, method string, params ...any) (answer, error) {
	select {
	case l.turns <- struct{}{}:
		defer func() { <-l.turns }()
	case <-ctx.Done():
		return answer{}, done(ctx)
	}
	answers := make(chan answer, 1)
	id, sent, err := l.send(method, params, answers)
	if err != nil {
		return answer{}, err
	}
	var over <-chan time.Time
	if wait < Forever {
		timer := time.NewTimer(l.timeout + wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case a := <-answers:
		a.sent, a.link = sent, l
		return a, a.err
	case <-over:
		err = cannotTell(late, nil, "the sidecar on %s did not answer in time", l.socket.RemoteAddr())
	case <-ctx.Done():
		err = done(ctx)
	}
	l.settle(id, answer{})
	return answer{}, err
}

// send sends a request, whose answer comes to answers.
func (l *link) send(method string, params []any, answers chan answer) (id int64, sent time.Duration, err error) {
	l.writes.Lock()
	defer l.writes.Unlock()
	l.mu.Lock()
	for id == 0 || l.pending[id] != nil {
		l.lastID = l.lastID%math.MaxUint32 + 1
		id = l.lastID
	}
	frame, failure := appendValue(make([]byte, 0, 256), []any{0, id, method, params})
	switch {
	case failure != nil:
		err = misuse("%s: %v", method, failure)
	case len(frame) > requestMax:
		err = misuse("%s: a request of more than 64 KiB", method)
	case l.err != nil:
		err = l.err
	default:
		l.pending[id] = answers
	}
	l.mu.Unlock()
	if err != nil {
		return 0, 0, err
	}
	sent = now()
	_ = l.socket.SetWriteDeadline(time.Now().Add(l.timeout))
	if _, failure = l.socket.Write(frame); failure != nil {
		l.hangUp(failure) // which answers this request as well
	}
	return id, sent, nil
}

// settle answers a request, if it still waits.
func (l *link) settle(id int64, a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if to := l.pending[id]; to != nil {
		delete(l.pending, id)
		to <- a
	}
}

func (l *link) read() {
	defer close(l.ended)
	d := decoder{r: bufio.NewReaderSize(l.socket, 16<<10)}
	for {
		message, err := d.next()
		if err == nil {
			err = l.take(message)
		}
		if errors.Is(err, errMalformed) {
			l.nonsense(err.Error())
		} else if err != nil {
			l.hangUp(err)
		}
		if err != nil {
			return
		}
	}
}

func (l *link) take(message any) error {
	parts, _ := message.([]any)
	if len(parts) == 3 && parts[0] == int64(2) {
		method, _ := parts[1].(string)
		params, _ := parts[2].([]any)
		if l.notify != nil && len(params) > 0 {
			l.notify(method, asRecord(params[0]))
		}
		return nil
	}
	if len(parts) != 4 || parts[0] != int64(1) {
		return malformed("a message of no known form")
	}
	id, _ := parts[1].(int64)
	a := answer{result: parts[3]}
	if parts[2] != nil {
		refusal := asRecord(parts[2])
		code, ok := refusal.count("code")
		if !ok || id == 0 { // it did not understand us, and hangs up
			return malformed("an error, " + refusal.text("message"))
		}
		a.err = &Error{int(code), refusal.text("message"), answered, nil}
	}
	l.settle(id, a) // if it has not timed out
	return nil
}
