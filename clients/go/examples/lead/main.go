// Command lead does an imaginary job in steps while this node leads a task.
//
//	lead TASK [STEPS]
//
// Exit code: 0 all steps done, 1 another node leads, 2 cannot tell or leadership was lost, 3 misuse,
// 4 nobody may lead it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"zkleader"
)

func work(ctx context.Context, lease *zkleader.Lease, steps int) error {
	for i := 1; i <= steps; i++ {
		if err := lease.Check(); err != nil { // also where this program was stopped for a while
			return err
		}
		// Whatever a step writes goes along with the token: a store that compares it refuses a smaller
		// one than it has seen.
		fmt.Printf("step %d of %d with token %d, %.1f s left\n", i, steps, lease.Token, lease.Left().Seconds())
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}

func main() {
	steps := 3
	if len(os.Args) > 2 {
		steps, _ = strconv.Atoi(os.Args[2])
	}
	client := zkleader.New(zkleader.Options{})
	defer client.Close()
	entered := false
	err := client.Leading(context.Background(), os.Args[1], time.Second, func(ctx context.Context, lease *zkleader.Lease) error {
		entered = true
		return work(ctx, lease, steps)
	})
	var failure *zkleader.Error
	if errors.As(err, &failure) {
		fmt.Fprintln(os.Stderr, err)
		if entered {
			os.Exit(zkleader.CannotTell)
		}
		os.Exit(failure.Code)
	}
}
