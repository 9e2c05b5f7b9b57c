package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
)

// The page has the results between these two lines.
const (
	tableBegin = "<!-- begin: written by bench -table -->\n"
	tableEnd   = "<!-- end: written by bench -table -->\n"
)

// printTable prints the results in a file as Markdown, or writes them into a page.
func printTable(file, page string) error {
	list, err := readResults(file)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("%s: no results: measure first", file)
	}
	if page == "" {
		fmt.Print(markdown(list))
		return nil
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return errors.New(page + " does not have the two lines between which the results go")
	}
	return os.WriteFile(page, []byte(before+tableBegin+markdown(list)+tableEnd+after), 0o644)
}

// markdown is the table of the targets. Ratios are Fanfold's median divided by the other one.
func markdown(list []result) string {
	var b strings.Builder
	b.WriteString("| what | against | measured | target | met |\n|---|---|---|---|---|\n")
	for _, t := range targets {
		f := &figures{list: list}
		value := t.value(f)
		measured, met := figure(value)+" "+cmp.Or(t.unit, "x"), ""
		switch {
		case f.missing:
			measured = "not measured"
		case t.limit == "":
		case t.met(value):
			met = "yes"
		default:
			met = "no"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", t.what, t.against, measured, t.limit, met)
	}
	return b.String()
}
