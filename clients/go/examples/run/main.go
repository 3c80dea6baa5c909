// Command run is what a crontab line of every server may call: it does the present tick of a task,
// once in the fleet.
//
//	run TASK
//
// Exit code: 0 done here, 1 another node does it or has done it, 2 cannot tell, 3 misuse, 4 nobody may.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"zkleader"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client := zkleader.New(zkleader.Options{})
	out, err := client.Run(ctx, os.Args[1], zkleader.RunOptions{}, func(ctx context.Context, run *zkleader.Run) error {
		fmt.Printf("the report of %s with token %d\n", run.Tick, run.Token)
		return ctx.Err()
	})
	var failure *zkleader.Error
	switch {
	case errors.As(err, &failure):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(failure.Code)
	case out.Reason == "nobody":
		os.Exit(zkleader.Nobody)
	case !out.Ran:
		os.Exit(zkleader.NotLeader)
	}
}
