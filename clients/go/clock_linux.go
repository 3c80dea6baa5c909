package zkleader

import (
	"syscall"
	"time"
	"unsafe"
)

const clockBoottime = 7 // CLOCK_BOOTTIME of linux/time.h

// now is the time of a clock that goes on while the machine is suspended.
func now() time.Duration {
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic("zkleader: CLOCK_BOOTTIME: " + errno.Error())
	}
	return time.Duration(ts.Nano())
}

// goodFor is how long a lease is taken for.
func goodFor(lease time.Duration) time.Duration { return lease }
