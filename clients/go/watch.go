package zkleader

import "context"

// subscribe keeps a subscription over restarts of the sidecar, until ctx is done or the sidecar refuses
// it, which is its error. It has a connection of its own: a subscription replaces the one before it
// there, and who takes the news slowly holds up nobody else. (The sidecar then tells the last state of
// each task alone.) news gets each notification, and "" when a connection has ended.
func (c *Client) subscribe(ctx context.Context, params []any, news func(method string, params record)) error {
	l := c.newLink()
	l.notify = news
	defer l.reading.Wait()
	defer l.close()
	var pauses backoff
	for {
		_, err := l.call(ctx, 0, false, "subscribe", params...)
		if err == nil {
			pauses = backoff{}
			select {
			case <-l.ended:
			case <-ctx.Done():
			}
		} else if as(err).Code != CannotTell {
			news("", nil)
			return err
		} else {
			l.drop(nil, l.hungUp(err))
		}
		news("", nil)
		if !sleep(ctx, pauses.next()) {
			return done(ctx)
		}
	}
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

func changeOf(m record) Change {
	token, _ := m.count("token")
	leader := asRecord(m["leader"])
	return Change{m.text("task"), m.text("state"), m["self"] == true, token, nameOf(leader), leader.text("version"),
		nameOf(asRecord(m["previous"])), m.text("reason"), m.text("since"), m.text("time")}
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
	changes := make(chan Change)
	w := &Watch{C: changes}
	params := make([]any, len(tasks))
	for i, task := range tasks {
		params[i] = task
	}
	told := map[string]Change{}
	ctx, cancel := c.bind(ctx)
	go func() {
		defer close(changes)
		defer cancel()
		w.err = c.subscribe(ctx, params, func(method string, m record) {
			change := changeOf(m)
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
