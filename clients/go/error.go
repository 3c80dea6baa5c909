package zkleader

import "fmt"

// The codes of an Error: the exit codes of zkleader-check that mean the same.
const (
	NotLeader  = 1 // another node leads, or leadership is lost
	CannotTell = 2 // no sidecar, no answer in time, no confirmed session, or an answer that makes no sense
	Misuse     = 3 // such as an unknown task or queue, or the caller may not
	Nobody     = 4 // nobody may lead it now; of a queue: it takes nothing now
)

// An Error is what all functions of this package fail with, but for what a caller's own function
// returned. Where a context was done, errors.Is knows its error.
type Error struct {
	Code    int
	Message string
	kind    kind
	cause   error
}

type kind int

const (
	misused  kind = iota // nothing was sent
	answered             // the sidecar said so
	away                 // nobody listens
	cut                  // the connection ended before the answer
	late                 // no answer in time
	nonsense             // an answer that cannot be understood
	closed               // the client is, or the caller's context is done
	lost                 // a lease is over
)

func (e *Error) Error() string { return e.Message }

// Unwrap is the error behind this one, or nil.
func (e *Error) Unwrap() error { return e.cause }

func cannotTell(k kind, cause error, format string, args ...any) *Error {
	return &Error{CannotTell, fmt.Sprintf(format, args...), k, cause}
}

func misuse(format string, args ...any) *Error {
	return &Error{Misuse, fmt.Sprintf(format, args...), misused, nil}
}

// as is an error of this package's own functions as what it is.
func as(err error) *Error {
	e, _ := err.(*Error)
	return e
}

// isAway tells whether the same may be asked of the next sidecar.
func isAway(err error) bool { return as(err).kind == away || as(err).kind == cut }
