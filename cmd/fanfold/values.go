package main

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/scripts"
)

// level is the value of --log-level.
type level slog.Level

// Set implements pflag.Value.
func (l *level) Set(text string) error {
	for name, value := range map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError} {
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

var durationForm = regexp.MustCompile(`^(?:([0-9]{1,4})w)?(?:([0-9]{1,5})d)?(.*)$`)

// Set implements pflag.Value.
func (s *durationValue) Set(text string) error {
	parts := durationForm.FindStringSubmatch(text)
	var sum time.Duration
	if parts == nil || text == "" {
		return errDuration
	}
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour} {
		if n, err := strconv.Atoi(parts[i+1]); err == nil {
			sum += time.Duration(n) * unit
		}
	}
	if parts[3] != "" {
		rest, err := time.ParseDuration(parts[3])
		if err != nil || sum > 0 && rest < 0 {
			return errDuration
		}
		sum += rest
	}
	*s = durationValue(sum)
	return nil
}

var errDuration = fmt.Errorf("write a duration such as 90s, 10m, 24h, 1d or 1w")

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
		return usage(errors.New("--wait cannot be combined with --in or --at"))
	case l.in != 0 && l.at != "":
		return usage(errors.New("--in and --at: give one of them"))
	case l.in < 0:
		return usage(fmt.Errorf("--in: %v is in the past", l.in))
	case l.at != "":
		if l.time, err = parseTime(l.at, time.Local); err != nil {
			return usage(err)
		}
		if time.Since(l.time) > maxPast {
			return usage(fmt.Errorf("--at: %s is in the past; without --in and --at it is due now", inspect.Stamp(l.time)))
		}
	}
	if max(l.in, time.Until(l.time)) > scripts.Horizon {
		return usage(errors.New("--in and --at: the time is more than ten years away"))
	}
	return nil
}

// parseTime parses RFC 3339, a date and time in a zone, or unix seconds or milliseconds.
func parseTime(text string, zone *time.Location) (time.Time, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		switch len(text) {
		case 10:
			return time.Unix(n, 0), nil
		case 13:
			return time.UnixMilli(n), nil
		}
		return time.Time{}, fmt.Errorf("--at: %s is not a time: unix seconds have 10 digits, milliseconds 13", text)
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", time.DateTime} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("--at: %q is not a time such as 2024-06-01T09:30:00+02:00, '2024-06-01 09:30' (in this machine's time zone), or unix seconds or milliseconds", text)
}
