// Does what the contract asks for, with the client of clients/go: see tests/clients/README.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sort"
	"sync"
	"time"

	"zkleader"
)

const lookTime = 50 * time.Millisecond // between looks whether a run still leads

type request struct {
	ID, Of, N                int
	HoldMs                   int   `json:"hold_ms"`
	WaitMs                   int   `json:"wait_ms"`
	AtUs                     int64 `json:"at_us"`
	Do, Task, Outcome, Queue string
	Tasks                    []string
	Tick, Job                *string
	Payload                  string
	Wait, Delay              *float64
}

type object = map[string]any

var (
	client *zkleader.Client
	output sync.Mutex
	mu     sync.Mutex
	kept   = map[int]any{} // what later requests are about, by id
)

type watching struct {
	cancel context.CancelFunc
	mu     sync.Mutex // held while an event is written
	over   bool
}

type leading struct {
	lease *zkleader.Lease
	leave chan struct{}
}

func write(message object) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	output.Lock()
	defer output.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

func keep(id int, thing any) {
	mu.Lock()
	defer mu.Unlock()
	kept[id] = thing
}

func get(id int) any {
	mu.Lock()
	defer mu.Unlock()
	return kept[id]
}

func seconds(s *float64, otherwise time.Duration) time.Duration {
	if s == nil {
		return otherwise
	}
	return time.Duration(*s * float64(time.Second))
}

// orNil is nil for what is not known.
func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func told(a *zkleader.Answer) object {
	return object{"leads": a.Leads(), "token": a.Token, "state": a.State, "leader": orNil(a.Leader), "version": orNil(a.Version)}
}

func do(ctx context.Context, r request) (object, error) {
	switch r.Do {
	case "leads":
		a, err := client.Leads(ctx, r.Task)
		if err != nil {
			return nil, err
		}
		keep(r.ID, a)
		return told(a), nil
	case "still":
		return object{"leads": get(r.Of).(*zkleader.Answer).Leads()}, nil
	case "watch":
		watch(ctx, r)
		return nil, nil
	case "unwatch":
		w := get(r.Of).(*watching)
		w.cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.over = true
		return object{}, nil
	case "leading":
		return nil, lead(ctx, r)
	case "check":
		err := get(r.Of).(*leading).lease.Check()
		return object{"leads": true}, err
	case "leave":
		close(get(r.Of).(*leading).leave)
		return object{}, nil
	case "run":
		return run(ctx, r)
	case "submit":
		o := zkleader.SubmitOptions{Delay: seconds(r.Delay, 0)}
		if r.Job != nil {
			o.ID = *r.Job
		}
		if r.AtUs != 0 {
			o.At = time.UnixMicro(r.AtUs)
		}
		id, err := client.Submit(ctx, r.Queue, []byte(r.Payload), o)
		return object{"job": id}, err
	case "job":
		j, err := client.Job(ctx, *r.Job, time.Duration(r.WaitMs)*time.Millisecond)
		if err != nil {
			return nil, err
		}
		return object{"job": j.ID, "state": j.State}, nil
	case "wait":
		j, err := client.Wait(ctx, *r.Job)
		if err != nil {
			return nil, err
		}
		return object{"job": j.ID, "state": j.State}, nil
	case "cancel":
		done, err := client.Cancel(ctx, *r.Job)
		return object{"job": *r.Job, "done": done}, err
	case "many":
		return many(ctx, r)
	case "bench":
		return bench(ctx, r)
	}
	return nil, errors.New("not known: " + r.Do)
}

func watch(ctx context.Context, r request) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watching{cancel: cancel}
	keep(r.ID, w)
	write(object{"id": r.ID, "ok": object{}})
	changes := client.Watch(ctx, r.Tasks...)
	for c := range changes.C {
		event := object{"task": c.Task, "state": c.State, "leads": c.Leads, "token": c.Token, "leader": orNil(c.Leader),
			"version": orNil(c.Version)}
		w.mu.Lock()
		if !w.over {
			write(object{"id": r.ID, "event": event})
		}
		w.mu.Unlock()
	}
}

func lead(ctx context.Context, r request) error {
	entered := false
	err := client.Leading(ctx, r.Task, seconds(r.Wait, zkleader.Forever), func(ctx context.Context, l *zkleader.Lease) error {
		entered = true
		leave := make(chan struct{})
		keep(r.ID, &leading{l, leave})
		write(object{"id": r.ID, "event": object{"entered": true, "token": l.Token}})
		select {
		case <-ctx.Done():
			write(object{"id": r.ID, "event": object{"lost": true, "left_ms": l.Left().Milliseconds()}})
			<-leave
		case <-leave:
		}
		return nil
	})
	var e *zkleader.Error
	if !entered && errors.As(err, &e) && e.Code != zkleader.Misuse {
		write(object{"id": r.ID, "event": object{"entered": false, "code": e.Code}})
		return nil
	}
	return err
}

func run(ctx context.Context, r request) (object, error) {
	var o zkleader.RunOptions
	if r.Tick != nil {
		o.Tick, _ = time.ParseDuration(*r.Tick)
	}
	asked := errors.New("as it was asked to")
	out, err := client.Run(ctx, r.Task, o, func(ctx context.Context, run *zkleader.Run) error {
		write(object{"id": r.ID, "event": object{"began": true, "tick": orNil(run.Tick), "token": run.Token, "attempt": run.Attempt}})
		for until := time.Now().Add(time.Duration(r.HoldMs) * time.Millisecond); time.Now().Before(until); time.Sleep(lookTime) {
			if err := run.Check(); err != nil {
				return err
			}
		}
		if r.Outcome == "fail" {
			return asked
		}
		return nil
	})
	if err != nil && err != asked && out.Reason != "lost" {
		return nil, err
	}
	return object{"ran": out.Ran, "reason": out.Reason}, nil
}

func many(ctx context.Context, r request) (object, error) {
	answers := make(chan *zkleader.Answer, r.N)
	failures := make(chan error, r.N)
	for i := 0; i < r.N; i++ {
		go func() {
			if a, err := client.Leads(ctx, r.Task); err != nil {
				failures <- err
			} else {
				answers <- a
			}
		}()
	}
	leads := 0
	for i := 0; i < r.N; i++ {
		select {
		case a := <-answers:
			if a.Leads() {
				leads++
			}
		case err := <-failures:
			return nil, err
		}
	}
	return object{"answers": r.N, "leading": leads}, nil
}

func bench(ctx context.Context, r request) (object, error) {
	took := make([]float64, 0, r.N)
	for i := -r.N / 2; i < r.N; i++ {
		began := time.Now()
		if _, err := client.Leads(ctx, r.Task); err != nil {
			return nil, err
		}
		if i >= 0 {
			took = append(took, float64(time.Since(began))/float64(time.Microsecond))
		}
	}
	sort.Float64s(took)
	return object{"median_us": took[len(took)/2]}, nil
}

func failure(id int, ok object, err error) object {
	told := object{"code": 70, "message": err.Error()}
	var e *zkleader.Error
	if errors.As(err, &e) {
		told["code"] = e.Code
	}
	if job, _ := ok["job"].(string); job != "" {
		told["job"] = job
	}
	return object{"id": id, "error": told}
}

func main() {
	client = zkleader.New(zkleader.Options{Socket: os.Args[1]})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			panic(err)
		}
		go func() {
			ok, err := do(context.Background(), r)
			if err != nil {
				write(failure(r.ID, ok, err))
			} else if ok != nil {
				write(object{"id": r.ID, "ok": ok})
			}
		}()
	}
	client.Close()
	output.Lock() // what is being written is written whole
}
