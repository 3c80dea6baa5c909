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

// A link is a connection to a sidecar: made when it is first needed, and anew when it is needed again
// after it has ended.
type link struct {
	path    string
	timeout time.Duration
	notify  func(method string, params record) // called with each notification, by who reads
	turns   chan struct{}                      // of what is in flight
	reading sync.WaitGroup
	writes  sync.Mutex // held by who writes

	mu      sync.Mutex // held briefly, but while a connection is made
	socket  net.Conn   // nil: there is none
	serial  int        // how many connections there have been
	ended   chan struct{}
	closed  *Error // once it is
	lastID  uint32
	pending map[uint32]chan answer
}

// An answer is the result of a call, when that was sent, and on which connection.
type answer struct {
	result any
	sent   time.Duration
	serial int
	err    error
}

// connect makes a connection if there is none. l.mu is held.
func (l *link) connect(ctx context.Context) error {
	if l.closed != nil {
		return l.closed
	}
	if l.socket != nil {
		return nil
	}
	socket, err := (&net.Dialer{Timeout: l.timeout}).DialContext(ctx, "unix", l.path)
	if err != nil {
		why := err
		var errno syscall.Errno
		if errors.As(err, &errno) {
			why = errno
		}
		return cannotTell(away, err, "no sidecar answers on %s: %v", l.path, why)
	}
	l.serial++
	l.socket, l.ended, l.pending = socket, make(chan struct{}), map[uint32]chan answer{}
	l.reading.Add(1)
	go l.read(socket)
	return nil
}

// drop ends the present connection, and with it what was asked on it: if it is still this one, nil:
// whichever it is.
func (l *link) drop(socket net.Conn, err *Error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.socket == nil || (socket != nil && l.socket != socket) {
		return err
	}
	l.socket.Close()
	l.socket = nil
	for id, to := range l.pending {
		delete(l.pending, id)
		to <- answer{err: err}
	}
	close(l.ended)
	return err
}

// nonsense ends the connection for what was wrong in an answer.
func (l *link) nonsense(why string) error { return l.drop(nil, senseless(why)) }

// close ends the connection for good.
func (l *link) close() {
	err := cannotTell(closed, nil, "the client is closed")
	l.mu.Lock()
	l.closed = err
	l.mu.Unlock()
	l.drop(nil, err)
}

// isOn tells whether the connection of that number is the present one.
func (l *link) isOn(serial int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.socket != nil && l.serial == serial
}

// call asks; the sidecar may take wait beside the timeout. Where it is repeatable it is sent once
// more, if its connection ends before the answer.
func (l *link) call(ctx context.Context, wait time.Duration, repeatable bool, method string, params ...any) (answer, error) {
	select {
	case l.turns <- struct{}{}:
		defer func() { <-l.turns }()
	case <-ctx.Done():
		return answer{}, done(ctx)
	}
	a := l.ask(ctx, wait, method, params)
	if a.err != nil && as(a.err).kind == cut && repeatable {
		a = l.ask(ctx, wait, method, params)
	}
	return a, a.err
}

func (l *link) ask(ctx context.Context, wait time.Duration, method string, params []any) answer {
	answers := make(chan answer, 1)
	id, serial, sent, err := l.send(ctx, method, params, answers)
	if err != nil {
		return answer{err: err}
	}
	var over <-chan time.Time
	if wait < Forever {
		timer := time.NewTimer(l.timeout + wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case a := <-answers:
		a.sent, a.serial = sent, serial
		return a
	case <-over:
		err = cannotTell(late, nil, "the sidecar on %s did not answer in time", l.path)
	case <-ctx.Done():
		err = done(ctx)
	}
	l.settle(id, answer{})
	return answer{err: err}
}

// send sends a request, whose answer comes to answers.
func (l *link) send(ctx context.Context, method string, params []any, answers chan answer) (id uint32, serial int, sent time.Duration, err error) {
	l.writes.Lock()
	defer l.writes.Unlock()
	l.mu.Lock()
	err = l.connect(ctx)
	for id == 0 || l.pending[id] != nil {
		l.lastID++
		id = l.lastID
	}
	frame, failure := appendValue(make([]byte, 0, 256), []any{0, int64(id), method, params})
	if failure != nil {
		err = misuse("%s: %v", method, failure)
	} else if len(frame) > requestMax {
		err = misuse("%s: a request of more than 64 KiB", method)
	}
	socket, serial := l.socket, l.serial
	if err == nil {
		l.pending[id] = answers
	}
	l.mu.Unlock()
	if err != nil {
		return 0, 0, 0, err
	}
	sent = now()
	_ = socket.SetWriteDeadline(time.Now().Add(l.timeout))
	if _, failure = socket.Write(frame); failure != nil {
		l.drop(socket, l.hungUp(failure)) // which answers this request as well
	}
	return id, serial, sent, nil
}

// settle answers a request, if it still waits.
func (l *link) settle(id uint32, a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if to := l.pending[id]; to != nil {
		delete(l.pending, id)
		to <- a
	}
}

func (l *link) hungUp(cause error) *Error {
	return cannotTell(cut, cause, "the sidecar on %s has closed the connection", l.path)
}

func (l *link) read(socket net.Conn) {
	defer l.reading.Done()
	d := decoder{r: bufio.NewReaderSize(socket, 16<<10)}
	for {
		message, err := d.next()
		if err == nil {
			err = l.take(message)
		}
		if errors.Is(err, errMalformed) {
			l.drop(socket, senseless(err.Error()))
		} else if err != nil {
			l.drop(socket, l.hungUp(err))
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
		params, ok := parts[2].([]any)
		if method == "" || !ok {
			return malformed("a notification of no known form")
		}
		if l.notify != nil && len(params) > 0 {
			l.notify(method, asRecord(params[0]))
		}
		return nil
	}
	if len(parts) != 4 || parts[0] != int64(1) {
		return malformed("a message of no known form")
	}
	id, ok := parts[1].(int64)
	if !ok || id < 0 || id > math.MaxUint32 {
		return malformed("an answer to nothing")
	}
	a := answer{result: parts[3]}
	if parts[2] != nil {
		refusal := asRecord(parts[2])
		code, ok := refusal.count("code")
		if !ok || code > math.MaxUint8 || refusal.text("message") == "" {
			return malformed("an error without code and message")
		}
		if id == 0 { // it did not understand us, and hangs up
			return malformed(refusal.text("message"))
		}
		a.err = &Error{int(code), refusal.text("message"), answered, nil}
	}
	l.settle(uint32(id), a) // if it has not timed out
	return nil
}
