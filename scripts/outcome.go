package scripts

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Outcome is what a script answers if its preconditions hold.
type Outcome int64

// The outcomes. What they mean for a message is in the package documentation.
const (
	OK      Outcome = 1   // done
	Already Outcome = 2   // done before; for Complete: the barrier is reached
	ToFail  Outcome = 3   // claimed in order to fail the job
	Reusing Outcome = 4   // started with datasets of an earlier attempt
	Busy    Outcome = 0   // another worker has the entry
	Gone    Outcome = -1  // nothing is left to be done for the entry
	Unknown Outcome = -2  // this process does not know the job's definition
	TooMuch Outcome = -3  // the job's data would have more bytes than it may
	TooFar  Outcome = -4  // too many chunks before this one are missing
	Another Outcome = -5  // another job of this id has this attempt or a later one
	Broken  Outcome = -6  // the key of the job is not what it should be
	Missing Outcome = -7  // a chunk was not stored, so a call before this one was lost
	Late    Outcome = -8  // the deadline has passed
	Large   Outcome = -9  // the job is sent on to the stream of large jobs
	NotKept Outcome = -10 // no datasets are kept of the attempt any more
)

var outcomes = map[Outcome]string{
	OK: "ok", Already: "already", ToFail: "to fail", Reusing: "reusing", NotKept: "not kept",
	Late: "late", Large: "sent on as a large job", Busy: "busy",
	Gone:    "gone",
	Unknown: "unknown definition", Another: "another job of this id", TooMuch: "too much data", Broken: "broken key",
	Missing: "a chunk is missing", TooFar: "too many chunks before it are missing",
}

// String names the outcome for logs.
func (o Outcome) String() string {
	if text, ok := outcomes[o]; ok {
		return text
	}
	return fmt.Sprintf("Outcome(%d)", int64(o))
}

// ErrChunk is returned if the chunks of a task are not complete: a call before this one was
// lost.
var ErrChunk error = final("a chunk is missing")

// ErrBroken is returned if a key is of another type than scripts make it, or a state cannot
// be read: trying again does not help.
var ErrBroken error = final("a key is not what it should be")

// ErrFull is returned if Redis has reached its maxmemory: it only accepts what ends jobs.
var ErrFull = errors.New("Redis is full")

// Full tells whether an error means that Redis is full: ErrFull, or the answer of a command that is not a script.
func Full(err error) bool { return errors.Is(err, ErrFull) || redis.HasErrorPrefix(err, "OOM") }

// WrongType tells whether an error says that a key has another type.
func WrongType(err error) bool { return redis.HasErrorPrefix(err, "WRONGTYPE") }

// Denied tells whether the user of Redis may not do something.
func Denied(err error) bool { return redis.HasErrorPrefix(err, "NOPERM") }

// IsAnswer tells whether an error is an answer of Redis that would be the same again, and not one of
// the connection or of a server that is away.
func IsAnswer(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok && !Full(err) && !slices.ContainsFunc([]string{"LOADING ", "CLUSTERDOWN ", "READONLY ", "MASTERDOWN "},
		func(away string) bool { return redis.HasErrorPrefix(err, away) })
}

// ErrReply is returned if Redis answers in a form that a script never gives.
var ErrReply = errors.New("unexpected reply")

// final is an error that every try would repeat.
type final string

func (f final) Error() string { return string(f) }
func (final) Final() bool     { return true }

// asError maps the errors that scripts raise to those of this package.
func asError(script string, err error) error {
	if err == nil {
		return nil
	}
	if strings.HasPrefix(err.Error(), "CHUNK") {
		return fmt.Errorf("%w: %w", ErrChunk, err)
	}
	if Full(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	// Lua's errors about a missing field begin with "attempt to …".
	if strings.HasPrefix(err.Error(), "WRONGTYPE") || strings.HasPrefix(err.Error(), "BROKEN") ||
		strings.Contains(err.Error(), "attempt to ") {
		return fmt.Errorf("%w: %s: %w", ErrBroken, script, err)
	}
	return fmt.Errorf("%s: %w", script, err)
}
