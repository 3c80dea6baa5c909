package zkleader

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"
)

const (
	pingTime = 5 * time.Second  // between looks whether the sidecar is there while a claim waits
	patience = 10 * time.Second // for a sidecar that went while a claim, or the end of a run, was outstanding
)

// RunOptions of Client.Run.
type RunOptions struct {
	Tick time.Duration // length of a tick; 0: the task's; negative: there is none, leadership is all
	Wait time.Duration // for leadership while the tick is unclaimed; 0: the task's; negative: none
}

// A Run is a tick that is claimed for this call.
type Run struct {
	*Lease
	Tick       string // such as 2026-11-20T02:00:00Z; "" without one
	Attempt    int
	Partition  int // of a task with partitions; else -1
	Partitions int // of how many; else 0

	link   *link
	name   string
	id     string
	number uint64
	serial int // of the connection that it belongs to
}

// An Outcome says what became of a run.
type Outcome struct {
	Ran     bool
	Reason  string // "ok", "failed", "lost"; where it did not run "taken", "waited" or "nobody"
	Why     string // a sentence for people
	Tick    string
	Token   uint64
	Attempt int
}

// Run claims the present tick of the task, which is done once in the fleet. If it is ours, it calls f
// and has the outcome recorded. An error that f returns is returned. The context that f gets is done
// when leadership is lost, at least 100 ms before the lease is over, or ctx is.
func (c *Client) Run(ctx context.Context, task string, o RunOptions, f func(context.Context, *Run) error) (Outcome, error) {
	bound, cancel := c.bind(ctx)
	defer cancel()
	link := c.newLink() // of its own: closing it takes back a claim that waits
	defer link.close()
	wall := time.Now()
	_, zone := wall.Zone()
	id := newUUID()
	options := map[string]any{"kind": "run", "id": id, "again": false, "now_ms": wall.UnixMilli(), "zone_ms": zone * 1000}
	setMilliseconds(options, "tick_ms", o.Tick)
	setMilliseconds(options, "wait_ms", o.Wait)
	claimed, err := link.claim(bound, task, options)
	if err != nil {
		return Outcome{}, err
	}
	m := asRecord(claimed.result)
	attempt, _ := m.count("attempt")
	token, isCount := m.count("token")
	number, isRun := m.count("run")
	out := Outcome{Reason: m.text("outcome"), Why: m.text("why"), Tick: m.text("tick"), Attempt: int(attempt)}
	if out.Reason == "" || (out.Reason == "yours" && !(isCount && isRun)) {
		return Outcome{}, link.nonsense("no word on the outcome of a claim")
	} else if out.Reason != "yours" {
		return out, nil
	}
	out.Ran, out.Token = true, token
	working, stop := context.WithCancel(bound)
	r := &Run{Lease: &Lease{Task: task, Token: token, cancel: stop}, Tick: out.Tick, Attempt: out.Attempt, Partition: -1,
		link: link, name: task, id: id, number: number, serial: claimed.serial}
	if k, ok := m.count("partition"); ok {
		n, _ := m.count("partitions")
		r.Partition, r.Partitions, r.name = int(k), int(n), task+":"+strconv.FormatUint(k, 10)
	}
	r.ask = r.renew
	err = r.do(working, f)
	interrupted := r.isLost() || (err != nil && bound.Err() != nil)
	r.leave()
	end := map[string]any{"exit_status": 0, "interrupted": interrupted}
	if out.Reason = "ok"; interrupted {
		out.Reason, end["exit_status"] = "lost", 1
	} else if err != nil {
		out.Reason, end["exit_status"] = "failed", 1
	}
	if unrecorded := r.finish(end); err == nil {
		err = unrecorded
	}
	return out, err
}

// do calls f while the lease is kept.
func (r *Run) do(ctx context.Context, f func(context.Context, *Run) error) error {
	first, err := r.renew(ctx) // the claim's answer may have been long on its way
	if err != nil {
		first.why = err.Error()
	}
	if r.term = first; !first.isEnough() {
		r.end("leadership is lost: "+first.why, lost)
		return r.err
	}
	// The lease goes on until f has ended, also where the caller wants it to end.
	keeping, cancel := context.WithCancel(context.Background())
	defer cancel()
	go r.keep(keeping)
	if err := f(ctx, r); err != nil {
		return err
	}
	return r.Check()
}

// claim has a claim answered, by a sidecar that was started anew as well, which knows it by its id.
func (l *link) claim(ctx context.Context, task string, options map[string]any) (answer, error) {
	var pauses backoff
	var patientUntil time.Duration
	pinging, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for sleep(pinging, pingTime) {
			if _, err := l.call(pinging, 0, false, "check", task); err != nil && as(err).kind == late {
				l.drop(nil, l.hungUp(err))
			}
		}
	}()
	for {
		a, err := l.call(ctx, Forever, false, "claim", task, options)
		if err == nil {
			return a, nil
		}
		if as(err).kind == cut {
			patientUntil = now() + patience
		}
		if !isAway(err) || now() >= patientUntil {
			return a, err
		}
		options["again"] = true
		if !sleep(ctx, pauses.next()) {
			return a, done(ctx)
		}
	}
}

// attach makes the run the present connection's. False: that is no use any more; recorded tells
// whether its end is.
func (r *Run) attach(ctx context.Context) (attached, recorded bool, err error) {
	if r.link.isOn(r.serial) {
		return true, false, nil
	}
	a, err := r.link.call(ctx, Forever, false, "attach", r.name, r.id)
	m := asRecord(a.result)
	if number, ok := m.count("run"); ok && m["attached"] == true {
		r.number, r.serial = number, a.serial
		return true, false, nil
	}
	return false, m["recorded"] == true, err
}

func (r *Run) renew(ctx context.Context) (term, error) {
	attached, _, err := r.attach(ctx)
	if err != nil || !attached {
		return term{why: "the sidecar that was started anew knows nothing of it"}, err
	}
	a, err := r.link.call(ctx, 0, false, "renew", r.number)
	if err != nil {
		return term{}, err
	}
	t, ok := termOf(asRecord(a.result), "leads", a.sent)
	if !ok {
		err = r.link.nonsense("no word on the lease of a run")
	}
	t.why = "the sidecar says so"
	return t, err
}

// finish has the end of the run recorded, by the next sidecar if need be.
func (r *Run) finish(end map[string]any) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var pauses backoff
	for {
		attached, recorded, err := r.attach(ctx)
		if attached {
			_, err = r.link.call(ctx, 0, false, "finish", r.number, end)
		} else if err == nil && !recorded {
			err = cannotTell(answered, nil, "the sidecar knows nothing of it")
		}
		if err == nil {
			return nil
		}
		if !isAway(err) || !sleep(ctx, pauses.next()) {
			return cannotTell(as(err).kind, err, "the end of the run could not be recorded: %v", err)
		}
	}
}

// setMilliseconds sets an option to a length; 0: not at all, negative: to 0.
func setMilliseconds(options map[string]any, key string, d time.Duration) {
	if d < 0 {
		options[key] = 0
	} else if d > 0 {
		options[key] = milliseconds(d)
	}
}

func newUUID() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic("zkleader: " + err.Error())
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
