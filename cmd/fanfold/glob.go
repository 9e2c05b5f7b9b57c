package main

import (
	"fmt"
	"path"
	"strings"
)

// glob makes a test for texts from a pattern with *, ? and [a-z]; an empty one
// matches all. Unlike in file names, * also matches a slash.
func glob(flag, pattern string) (func(text string) bool, error) {
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	plain := func(text string) string { return strings.ReplaceAll(text, "/", "\x00") }
	pattern = plain(pattern)
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, usage(fmt.Errorf("--%s: a pattern has *, ? and [a-z]: %w", flag, err))
	}
	return func(text string) bool {
		ok, _ := path.Match(pattern, plain(text))
		return ok
	}, nil
}

// atLeastOne refuses a limit that is none.
func atLeastOne(limit int) error {
	if limit < 1 {
		return usage(fmt.Errorf("--limit: %d is less than 1", limit))
	}
	return nil
}
