//go:build !linux

package zkleader

import "time"

const goodMax = 5 * time.Second

var began = time.Now()

// now is the time of a clock that may stand still while the machine is suspended: no other is known.
func now() time.Duration { return time.Since(began) }

// goodFor is how long a lease is taken for: less than it was promised, for what the clock misses.
func goodFor(lease time.Duration) time.Duration {
	if lease /= 2; lease > goodMax {
		return goodMax
	}
	return lease
}
