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
	Tick time.Duration // in whole seconds; 0: the task's; negative: there is none, leadership is all
	Wait time.Duration // for leadership while the tick is unclaimed; 0: the task's; negative: none
}

// A Run is a tick that is claimed for this call.
type Run struct {
	*Lease
	Tick       string // such as 2026-11-20T02:00:00Z; "" without one
	Attempt    int
	Partition  int // of a task with partitions; else -1
	Partitions int // of how many; else 0

	client   *Client
	link     *link // to which it is attached, and its number there
	number   uint64
	name, id string
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
	if o.Tick%time.Second > 0 {
		return Outcome{}, misuse("a tick is whole seconds")
	}
	ctx, cancel := c.bind(ctx)
	defer cancel()
	id := newUUID()
	claimed, err := c.claim(ctx, task, id, o)
	if err != nil {
		return Outcome{}, err
	}
	defer claimed.link.hangUp(nil)
	m := asRecord(claimed.result)
	attempt, _ := m.count("attempt")
	token, isCount := m.count("token")
	number, isRun := m.count("run")
	out := Outcome{Reason: m.text("outcome"), Why: m.text("why"), Tick: m.text("tick"), Attempt: int(attempt)}
	if out.Reason == "" || (out.Reason == "yours" && !(isCount && isRun)) {
		return Outcome{}, claimed.link.nonsense("no word on the outcome of a claim")
	} else if out.Reason != "yours" {
		return out, nil
	}
	out.Ran, out.Token = true, token
	working, stop := context.WithCancel(ctx)
	r := &Run{Lease: &Lease{Task: task, Token: token, cancel: stop}, Tick: out.Tick, Attempt: out.Attempt, Partition: -1,
		client: c, link: claimed.link, number: number, name: task, id: id}
	defer func() { r.link.hangUp(nil) }()
	if k, ok := m.count("partition"); ok {
		n, _ := m.count("partitions")
		r.Partition, r.Partitions, r.name = int(k), int(n), task+":"+strconv.FormatUint(k, 10)
	}
	r.ask = r.renew
	err = r.do(working, f)
	interrupted := r.isLost() || (err != nil && ctx.Err() != nil)
	r.end("leadership was left", closed)
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
		return r.end("leadership is lost: "+err.Error(), lost)
	}
	if r.term = first; !first.isEnough() {
		return r.end("leadership is lost: its lease is as good as over", lost)
	}
	// The lease goes on until f has ended, also where the caller wants it to end.
	keeping, cancel := context.WithCancel(context.Background())
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		r.keep(keeping)
	}()
	defer func() {
		cancel()
		<-kept
	}()
	if err := f(ctx, r); err != nil {
		return err
	}
	return r.Check()
}

// insist asks until there is another answer than that the sidecar is away, for that long.
func insist(ctx context.Context, patience time.Duration, ask func() error) error {
	var pauses backoff
	for begin := time.Now(); ; {
		err := ask()
		if err == nil || !isAway(err) || time.Since(begin) > patience {
			return err
		}
		if !sleep(ctx, pauses.next()) {
			return done(ctx)
		}
	}
}

// claim has a claim answered, by a sidecar that was started anew as well, which knows it by its id.
func (c *Client) claim(ctx context.Context, task, id string, o RunOptions) (a answer, err error) {
	wall := time.Now()
	_, zone := wall.Zone()
	options := map[string]any{"kind": "run", "id": id, "again": false, "now_ms": wall.UnixMilli(), "zone_ms": zone * 1000}
	setMilliseconds(options, "tick_ms", o.Tick)
	setMilliseconds(options, "wait_ms", o.Wait)
	ask := func() error {
		a, err = c.claimOnce(ctx, task, options)
		return err
	}
	if ask(); err != nil && as(err).kind == cut {
		options["again"] = true
		err = insist(ctx, patience, ask)
	}
	return a, err
}

// claimOnce claims on a connection of its own, whose end takes back a claim that waits.
func (c *Client) claimOnce(ctx context.Context, task string, options map[string]any) (answer, error) {
	l, err := c.dial(ctx, nil)
	if err != nil {
		return answer{}, err
	}
	pinging, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for sleep(pinging, pingTime) {
			if _, err := l.call(pinging, 0, "check", task); err != nil && as(err).kind == late {
				l.hangUp(err)
			}
		}
	}()
	a, err := l.call(ctx, Forever, "claim", task, options)
	if err != nil {
		l.hangUp(err)
	}
	return a, err
}

// attach makes the run another connection's, where its own has ended.
func (r *Run) attach(ctx context.Context) (recorded bool, err error) {
	if r.link.isOpen() {
		return false, nil
	}
	l, err := r.client.dial(ctx, nil)
	if err != nil {
		return false, err
	}
	a, err := l.call(ctx, Forever, "attach", r.name, r.id)
	m := asRecord(a.result)
	if number, ok := m.count("run"); ok && m["attached"] == true {
		r.link, r.number = l, number
		return false, nil
	}
	l.hangUp(err)
	if err == nil {
		err = &Error{NotLeader, "the sidecar that was started anew knows nothing of it", answered, nil}
	}
	return m["recorded"] == true, err
}

func (r *Run) renew(ctx context.Context) (term, error) {
	if _, err := r.attach(ctx); err != nil {
		return term{}, err
	}
	a, err := r.link.call(ctx, 0, "renew", r.number)
	if err != nil {
		return term{}, err
	}
	t, err := a.term("leads")
	if err == nil && !t.leads {
		err = &Error{NotLeader, "the sidecar says so", answered, nil}
	}
	return t, err
}

// finish has the end of the run recorded, by the next sidecar if need be.
func (r *Run) finish(end map[string]any) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := insist(ctx, patience, func() error {
		recorded, err := r.attach(ctx)
		if err == nil {
			_, err = r.link.call(ctx, 0, "finish", r.number, end)
		} else if recorded {
			return nil
		}
		return err
	})
	if err != nil {
		return cannotTell(as(err).kind, err, "the end of the run could not be recorded: %v", err)
	}
	return nil
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
