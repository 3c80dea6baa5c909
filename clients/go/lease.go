package zkleader

import (
	"context"
	"sync"
	"time"
)

const marginMin = 100 * time.Millisecond // between word of a loss and the end of the lease

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

// A term is a time for which this node leads: until then by now().
type term struct {
	leads bool
	sent  time.Duration
	good  time.Duration
	why   string
}

func (t term) until() time.Duration { return t.sent + t.good }

// tellAt is when a term counts as lost, so that the function that it is for can end in time.
func (t term) tellAt() time.Duration {
	margin := t.good / 5
	if margin < marginMin {
		margin = marginMin
	}
	return t.until() - margin
}

// isEnough tells whether the term is long enough to begin something.
func (t term) isEnough() bool { return t.leads && now() < t.tellAt() }

// Leads tells whether this node leads the task now: false as soon as the lease of the answer is over,
// also where the program or the machine was stopped meanwhile. It asks nobody.
func (a *Answer) Leads() bool { return a.Left() > 0 }

// Left is for how long Leads stays true.
func (a *Answer) Left() time.Duration { return a.term.left() }

func (t term) left() time.Duration {
	if left := t.until() - now(); t.leads && left > 0 {
		return left
	}
	return 0
}

// termOf reads leads and lease_ms of an answer.
func termOf(r record, leads string, sent time.Duration) (term, bool) {
	isLeader, ok := r[leads].(bool)
	ms, isCount := r.count("lease_ms")
	const most = 1 << 40 // ms
	if !ok || !isCount || ms > most {
		return term{}, false
	}
	return term{isLeader, sent, goodFor(time.Duration(ms) * time.Millisecond), r.text("why")}, true
}

// nameOf is what the node of a worker is called, "" where nobody is known.
func nameOf(worker record) string {
	for _, key := range []string{"node", "hostname", "id"} {
		if name := worker.text(key); name != "" {
			return name
		}
	}
	return ""
}

func newAnswer(task string, a answer) (*Answer, bool) {
	m := asRecord(a.result)
	by := asRecord(m["led_by"])
	state, isText := m["state"].(string)
	token, isCount := m.count("token")
	t, ok := termOf(m, "leader", a.sent)
	ok = ok && isText && isCount && (by != nil || m["led_by"] == nil)
	return &Answer{task, state, token, nameOf(by), by.text("version"), t.why, t}, ok
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
	over := now() >= l.term.tellAt()
	l.mu.Unlock()
	if over { // word of that may be late: the program was stopped
		l.end("leadership is lost: the lease is over", lost)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
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

func (l *Lease) end(why string, k kind) {
	l.mu.Lock()
	if l.err == nil {
		l.err = &Error{NotLeader, l.Task + ": " + why, k, nil}
	}
	l.mu.Unlock()
	l.cancel()
}

func (l *Lease) leave() { l.end("leadership was left", closed) }

// keep renews the lease until it is lost or left, or ctx is done.
func (l *Lease) keep(ctx context.Context) {
	var pauses backoff
	next := l.term.sent + l.term.good/3
	for {
		tellAt := l.term.tellAt() // written here alone
		if next > tellAt {
			next = tellAt
		}
		if !sleep(ctx, next-now()) || l.Check() != nil {
			return
		}
		asking, cancel := context.WithTimeout(ctx, tellAt-now())
		t, err := l.ask(asking)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && t.leads:
			l.mu.Lock()
			l.term = t
			l.mu.Unlock()
			pauses = backoff{}
			next = t.sent + t.good/3
		case err == nil:
			l.end("leadership is lost: "+t.why, lost)
			return
		case as(err).kind == answered || as(err).Code != CannotTell:
			l.end("leadership is lost: "+err.Error(), lost)
			return
		default:
			next = now() + pauses.next()
		}
	}
}
