// Command submit submits a job and waits for its end.
//
//	submit QUEUE PAYLOAD
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"zkleader"
)

// submit goes on until it is known that the job is there: with the id of the first attempt there is
// one job, however often it is submitted.
func submit(ctx context.Context, client *zkleader.Client, queue, payload string) (string, error) {
	var o zkleader.SubmitOptions
	for {
		id, err := client.Submit(ctx, queue, []byte(payload), o)
		var failure *zkleader.Error
		if !errors.As(err, &failure) || failure.Code != zkleader.CannotTell || ctx.Err() != nil {
			return id, err
		}
		o.ID = id
		time.Sleep(100 * time.Millisecond)
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	client := zkleader.New(zkleader.Options{})
	id, err := submit(ctx, client, os.Args[1], os.Args[2])
	if err == nil {
		var job *zkleader.Job
		if job, err = client.Wait(ctx, id); err == nil {
			fmt.Printf("%s: %s, exit status %d\n%s", job.ID, job.State, job.ExitStatus, job.Output)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(zkleader.CannotTell)
	}
}
