package zkleader

import "context"

// subscribe keeps a subscription over restarts of the sidecar, until ctx is done or the sidecar refuses
// it, which is its error. news gets each notification, and "" when a connection has ended.
func (c *Client) subscribe(ctx context.Context, params []any, news func(method string, params record)) error {
	var pauses backoff
	for {
		err := c.listen(ctx, params, news)
		news("", nil)
		if err == nil {
			pauses = backoff{}
		} else if as(err).Code != CannotTell {
			return err
		}
		if !sleep(ctx, pauses.next()) {
			return done(ctx)
		}
	}
}

// listen passes on the news until the connection ends. It has one of its own: a subscription replaces
// the one before it there, and who takes the news slowly holds up nobody else. (The sidecar then tells
// the last state of each task alone.)
func (c *Client) listen(ctx context.Context, params []any, news func(string, record)) error {
	l, err := c.dial(ctx, news)
	if err != nil {
		return err
	}
	if _, err = l.call(ctx, 0, "subscribe", params...); err == nil {
		select {
		case <-l.ended:
		case <-ctx.Done():
		}
	}
	l.hangUp(err)
	<-l.ended
	return err
}

// A Change says who leads a task from now on. It is news, no permission: see Client.Leads.
type Change struct {
	Task     string
	State    string // as in an Answer
	Leads    bool   // this node has the role
	Token    uint64
	Leader   string // "": nobody
	Version  string
	Previous string // who led before
	Reason   string // why that one leads no longer, or why nobody leads
	Since    string // when the leader claimed it, RFC 3339
	Time     string // when the sidecar heard of it
}

func changeOf(r record) Change {
	token, _ := r.count("token")
	leader := asRecord(r["leader"])
	return Change{r.text("task"), r.text("state"), r["self"] == true, token, leader.node(), leader.text("version"),
		asRecord(r["previous"]).node(), r.text("reason"), r.text("since"), r.text("time")}
}

// isNews tells whether a change says something else than the one that was told last.
func (c Change) isNews(told Change) bool {
	told.Previous, told.Reason, told.Since, told.Time = c.Previous, c.Reason, c.Since, c.Time
	return c != told
}

// A Watch is a stream of changes.
type Watch struct {
	// C has the present state of each task, and then the changes. It is closed when the watch ends.
	C   <-chan Change
	err error
}

// Err is why the watch has ended, once C is closed.
func (w *Watch) Err() error { return w.err }

// Watch tells the changes of these tasks (none: of all) over restarts of the sidecar, until ctx is
// done or the client is closed.
func (c *Client) Watch(ctx context.Context, tasks ...string) *Watch {
	changes, told := make(chan Change), map[string]Change{}
	w := &Watch{C: changes}
	params := make([]any, len(tasks))
	for i, task := range tasks {
		params[i] = task
	}
	ctx, cancel := c.bind(ctx)
	go func() {
		defer close(changes)
		defer cancel()
		w.err = c.subscribe(ctx, params, func(method string, r record) {
			change := changeOf(r)
			if method != "leadership" || !change.isNews(told[change.Task]) {
				return
			}
			select {
			case changes <- change:
				told[change.Task] = change
			case <-ctx.Done():
			}
		})
	}()
	return w
}
