package zkleader

import (
	"context"
	"sync"
)

// subscribe keeps a subscription on a connection of its own, over restarts of the sidecar, until ctx
// is done or the sidecar refuses it. (A subscription replaces the one before it on its connection;
// and who reads slowly holds up himself alone.) news gets each notification, and "" when a connection
// has ended.
func (c *Client) subscribe(ctx context.Context, params []any, news func(method string, params record)) *Error {
	l := c.newLink()
	l.notify = news
	defer l.close()
	var pauses backoff
	for {
		_, err := l.call(ctx, 0, false, "subscribe", params...)
		if err == nil {
			pauses = backoff{}
			l.ended(ctx)
		} else if err.Code != CannotTell {
			news("", nil)
			return err
		} else {
			l.hangUp(err)
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

func changeOf(m record) (Change, bool) {
	token, _ := m.count("token")
	self, _ := m.flag("self")
	leader, _ := asRecord(m["leader"])
	change := Change{m.text("task"), m.text("state"), self, token, nameOf(m["leader"]), leader.text("version"),
		nameOf(m["previous"]), m.text("reason"), m.text("since"), m.text("time")}
	return change, change.Task != "" && change.State != ""
}

// isSame tells whether there is nothing new in a change.
func (c Change) isSame(other Change) bool {
	c.Previous, c.Reason, c.Since, c.Time = other.Previous, other.Reason, other.Since, other.Time
	return c == other
}

// A Watch is a stream of changes.
type Watch struct {
	// C has the present state of each task, and then the changes. It is closed when the watch ends. Who
	// reads slowly gets the last state of each task.
	C <-chan Change

	mu    sync.Mutex
	fresh map[string]Change // what was not sent yet
	order []string
	err   error
}

// Err is why the watch has ended: an error of the sidecar or of the context.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Watch tells the changes of these tasks (none: of all) over restarts of the sidecar, until ctx is
// done or the client is closed.
func (c *Client) Watch(ctx context.Context, tasks ...string) *Watch {
	changes := make(chan Change)
	w := &Watch{C: changes, fresh: map[string]Change{}}
	wake := make(chan struct{}, 1)
	params := []any{}
	for _, task := range tasks {
		params = append(params, task)
	}
	ctx, cancel := c.bind(ctx)
	ended := make(chan struct{})
	go func() {
		defer cancel()
		defer close(ended)
		err := c.subscribe(ctx, params, func(method string, m record) {
			if change, ok := changeOf(m); ok && method == "leadership" {
				w.add(change)
				poke(wake)
			}
		})
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.err = err; c.isClosed() {
			w.err = clientClosed()
		}
	}()
	go func() {
		defer func() {
			<-ended // so Err knows why
			close(changes)
		}()
		told := map[string]Change{}
		for {
			change, ok := w.take()
			if !ok {
				select {
				case <-wake:
				case <-ctx.Done():
					return
				}
			} else if !change.isSame(told[change.Task]) {
				select {
				case changes <- change:
					told[change.Task] = change
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return w
}

func (w *Watch) add(change Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.fresh[change.Task]; !ok {
		w.order = append(w.order, change.Task)
	}
	w.fresh[change.Task] = change
}

func (w *Watch) take() (Change, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.order) == 0 {
		return Change{}, false
	}
	change := w.fresh[w.order[0]]
	delete(w.fresh, w.order[0])
	w.order = w.order[1:]
	return change, true
}
