package main

import (
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"
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

// listing is what commands that list share: which are meant, and how many.
type listing struct {
	match string // a pattern; empty: all
	limit int
}

// command makes a command that prints a list. What it is matched with is said in help;
// without that it has no --match.
func (l *listing) command(f *flags, short, help string, list func(c *cobra.Command, b *backend, matches func(string) bool) (printer, error)) *cobra.Command {
	c := &cobra.Command{
		Use:   "ls",
		Short: short,
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			matches, err := glob("match", l.match)
			if err != nil {
				return err
			}
			if l.limit < 1 {
				return usage(fmt.Errorf("--limit: %d is less than 1", l.limit))
			}
			result, err := list(c, b, matches)
			if err != nil {
				return err
			}
			return f.print(c.OutOrStdout(), result)
		}),
	}
	if help != "" {
		c.Flags().StringVar(&l.match, "match", "", help)
	}
	c.Flags().IntVar(&l.limit, "limit", 50, "how many")
	return c
}
