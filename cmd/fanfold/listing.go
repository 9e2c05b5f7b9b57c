package main

import (
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"
)

// glob makes a test for texts from a pattern with *, ? and [a-z]; an empty one
// matches all. Unlike in file names, * also matches a slash.
func glob(pattern string) (func(text string) bool, error) {
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	plain := func(text string) string { return strings.ReplaceAll(text, "/", "\x00") }
	pattern = plain(pattern)
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, usage(fmt.Errorf("--match: a pattern has *, ? and [a-z]: %w", err))
	}
	return func(text string) bool {
		ok, _ := path.Match(pattern, plain(text))
		return ok
	}, nil
}

// listing makes a command that prints up to limit of what matches; help says what is
// matched.
func listing(f *flags, short, help string, print func(c *cobra.Command, b *backend, matches func(string) bool, limit int) error) *cobra.Command {
	var match string
	var limit int
	c := &cobra.Command{
		Use:   "ls",
		Short: short,
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			matches, err := glob(match)
			if err != nil {
				return err
			}
			if err := positive(limit); err != nil {
				return err
			}
			return print(c, b, matches, limit)
		}),
	}
	c.Flags().StringVar(&match, "match", "", help)
	c.Flags().IntVar(&limit, "limit", 50, "how many")
	return c
}

// positive proves a --limit.
func positive(limit int) error {
	if limit < 1 {
		return usage(fmt.Errorf("--limit: %d is less than 1", limit))
	}
	return nil
}
