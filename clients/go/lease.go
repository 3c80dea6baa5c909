package zkleader

import (
	"context"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	clockBoottime = 7                      // CLOCK_BOOTTIME of linux/time.h
	marginMin     = 100 * time.Millisecond // between word of a loss and the end of the lease
	msMax         = 1 << 40                // of a lease
)

// now is the time of a clock that goes on while the machine is suspended.
func now() time.Duration {
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic("zkleader: CLOCK_BOOTTIME: " + errno.Error())
	}
	return time.Duration(ts.Nano())
}

// A term is a time for which this node leads, by now().
type term struct {
	leads bool
	sent  time.Duration
	good  time.Duration
}

func (t term) left() time.Duration {
	if left := t.sent + t.good - now(); t.leads && left > 0 {
		return left
	}
	return 0
}

// tellAt is when a term counts as lost, so that the function that it is for can end in time.
func (t term) tellAt() time.Duration {
	margin := t.good / 5
	if margin < marginMin {
		margin = marginMin
	}
	return t.sent + t.good - margin
}

// isEnough tells whether the term is long enough to begin something.
func (t term) isEnough() bool { return t.leads && now() < t.tellAt() }

// term reads leads and lease_ms of an answer.
func (a answer) term(leads string) (term, error) {
	r := asRecord(a.result)
	isLeader, ok := r[leads].(bool)
	ms, isCount := r.count("lease_ms")
	if !ok || !isCount || ms > msMax {
		return term{}, a.link.nonsense("no word on the lease")
	}
	return term{isLeader, a.sent, time.Duration(ms) * time.Millisecond}, nil
}

// An Answer says who leads a task. It does not change, but for Leads, which ends with the lease.
type Answer struct {
	Task    string
	State   string // "leading", "following", "contending", "paused", "drained", "disconnected"; more may be added
	Token   uint64 // the fencing token, which grows with each leader; 0 while none is known
	Leader  string // what the leader's node is called; "" while nobody is known to lead
	Version string // the leader's
	Why     string // a sentence for people

	term term
}

func newAnswer(task string, a answer) (*Answer, error) {
	r := asRecord(a.result)
	by := asRecord(r["led_by"])
	token, isCount := r.count("token")
	if r.text("state") == "" || !isCount || (by == nil && r["led_by"] != nil) {
		return nil, a.link.nonsense("no word on who leads")
	}
	t, err := a.term("leader")
	return &Answer{task, r.text("state"), token, by.node(), by.text("version"), r.text("why"), t}, err
}

// Leads tells whether this node leads the task now: false as soon as the lease of the answer is over,
// also where the program or the machine was stopped meanwhile. It asks nobody.
func (a *Answer) Leads() bool { return a.Left() > 0 }

// Left is for how long Leads stays true.
func (a *Answer) Left() time.Duration { return a.term.left() }

// code says why this node does not lead, as zkleader-check does.
func (a *Answer) code() int {
	switch {
	case a.State == "paused":
		return Nobody
	case a.State != "disconnected" && a.Leader != "":
		return NotLeader
	case a.State == "drained":
		return Nobody
	}
	return CannotTell
}

// A Lease is leadership that is renewed while a function goes on.
type Lease struct {
	Task  string
	Token uint64 // the fencing token

	ask    func(context.Context) (term, error)
	cancel context.CancelFunc // of the function's context

	mu   sync.Mutex
	term term
	err  error // once it is lost or left
}

// Check is an error with the code NotLeader once leadership is lost. To be called before each step
// that must not happen twice.
func (l *Lease) Check() error {
	l.mu.Lock()
	over, err := now() >= l.term.tellAt(), l.err
	l.mu.Unlock()
	if over { // word of that may be late: the program was stopped
		return l.end("leadership is lost: the lease is over", lost)
	}
	return err
}

// Left is what is left of the lease; it is renewed before it is over.
func (l *Lease) Left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term.left()
}

func (l *Lease) isLost() bool {
	err := l.Check()
	return err != nil && as(err).kind == lost
}

// end ends it, if it has not ended; the error with which it has.
func (l *Lease) end(why string, k kind) error {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = &Error{NotLeader, l.Task + ": " + why, k, nil}
	}
	return l.err
}

// keep renews the lease until it is lost or left, or ctx is done.
func (l *Lease) keep(ctx context.Context) {
	var pauses backoff
	t := l.term // written here alone
	next := t.sent + t.good/3
	for {
		if next > t.tellAt() {
			next = t.tellAt()
		}
		if !sleep(ctx, next-now()) || l.Check() != nil {
			return
		}
		asking, cancel := context.WithTimeout(ctx, t.tellAt()-now())
		renewed, err := l.ask(asking)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			l.mu.Lock()
			l.term, t = renewed, renewed
			l.mu.Unlock()
			pauses, next = backoff{}, t.sent+t.good/3
		case as(err).kind == answered || as(err).Code != CannotTell:
			l.end("leadership is lost: "+err.Error(), lost)
			return
		default:
			next = now() + pauses.next()
		}
	}
}
