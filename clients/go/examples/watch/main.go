// Command watch prints who leads tasks: now, and whenever that changes.
//
//	watch [TASK...]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"zkleader"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client := zkleader.New(zkleader.Options{})
	changes := client.Watch(ctx, os.Args[1:]...)
	for change := range changes.C {
		if change.Leader == "" {
			fmt.Printf("%s: nobody leads\n", change.Task)
		} else {
			fmt.Printf("%s: %s (%s), token %d\n", change.Task, change.Leader, change.Version, change.Token)
		}
	}
	if ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, changes.Err())
		os.Exit(zkleader.Misuse)
	}
}
