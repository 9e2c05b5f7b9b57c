package command

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/moment"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts"
)

// level is the value of --log-level.
type level slog.Level

// Set implements pflag.Value.
func (l *level) Set(text string) error {
	for name, value := range map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo,
		"warn": slog.LevelWarn, "error": slog.LevelError} {
		if strings.EqualFold(text, name) {
			*l = level(value)
			return nil
		}
	}
	return fmt.Errorf("it is not one of debug, info, warn or error")
}

// String implements pflag.Value.
func (l *level) String() string { return strings.ToLower(slog.Level(*l).String()) }

// Type implements pflag.Value.
func (*level) Type() string { return "level" }

// durationValue is the value of --in: a Go duration, optionally after weeks (w, 7 days) and days (d, 24
// hours).
type durationValue time.Duration

// Set implements pflag.Value.
func (s *durationValue) Set(text string) error {
	d, err := moment.ParseDuration(text)
	if err == nil {
		*s = durationValue(d)
	}
	return err
}

// String implements pflag.Value.
func (s *durationValue) String() string { return time.Duration(*s).String() }

// Type implements pflag.Value.
func (*durationValue) Type() string { return "duration" }

// dueFlags are --in and --at, which say when something is due.
type dueFlags struct {
	in   time.Duration
	at   string
	time time.Time // parsed from at by check
}

func (l *dueFlags) given() bool { return l.in != 0 || l.at != "" }

// from returns the due time; now is the time of Redis.
func (l *dueFlags) from(now time.Time) time.Time {
	if l.at != "" {
		return l.time
	}
	return now.Add(l.in)
}

// maxPast is how far --at may be in the past, so that the current minute is valid.
const maxPast = time.Minute

// check verifies the flags and parses --at.
func (l *dueFlags) check(wait bool) (err error) {
	switch {
	case l.given() && wait:
		return fault.Input.New("--wait cannot be combined with --in or --at")
	case l.in != 0 && l.at != "":
		return fault.Input.New("--in and --at: give one of them")
	case l.in < 0:
		return fault.Input.New("--in: %v is in the past", l.in)
	case l.at != "":
		if l.time, err = moment.Parse(l.at, time.Local); err != nil {
			return fault.Input.New("--at: %w", err)
		}
		if time.Since(l.time) > maxPast {
			return fault.Input.New("--at: %s is in the past; without --in and --at it is due now", words.Stamp(l.time))
		}
	}
	if max(l.in, time.Until(l.time)) > scripts.Horizon {
		return fault.Input.New("--in and --at: the time is more than ten years away")
	}
	return nil
}
