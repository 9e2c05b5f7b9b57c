package main

import (
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"
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
	return fmt.Errorf("it is none of debug, info, warn and error")
}

// String implements pflag.Value.
func (l *level) String() string { return strings.ToLower(slog.Level(*l).String()) }

// Type implements pflag.Value.
func (*level) Type() string { return "level" }

// span is the value of --in: as Go writes durations, with d for 24 hours and w for 7 days
// before that.
type span time.Duration

var spanForm = regexp.MustCompile(`^(?:([0-9]{1,4})w)?(?:([0-9]{1,5})d)?(.*)$`)

// Set implements pflag.Value.
func (s *span) Set(text string) error {
	parts := spanForm.FindStringSubmatch(text)
	var sum time.Duration
	if parts == nil || text == "" {
		return errSpan
	}
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour} {
		if n, err := strconv.Atoi(parts[i+1]); err == nil {
			sum += time.Duration(n) * unit
		}
	}
	if parts[3] != "" {
		rest, err := time.ParseDuration(parts[3])
		if err != nil || sum > 0 && rest < 0 {
			return errSpan
		}
		sum += rest
	}
	*s = span(sum)
	return nil
}

var errSpan = fmt.Errorf("write a duration such as 90s, 10m, 24h, 1d or 1w")

// String implements pflag.Value.
func (s *span) String() string { return time.Duration(*s).String() }

// Type implements pflag.Value.
func (*span) Type() string { return "duration" }
