package main

import (
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

// markdown is the table of the targets, and then everything that was measured.
func markdown(list []result) string {
	var b strings.Builder
	b.WriteString("| what | target | measured | met |\n|---|---|---|---|\n")
	for _, t := range targets {
		f := &figures{list: list}
		measured, met := t.measure(f)
		answer := "no"
		switch {
		case len(f.missing) > 0:
			measured, answer = "not measured", ""
		case t.target == given:
			answer = ""
		case met:
			answer = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", t.what, t.target, measured, answer)
	}
	b.WriteString("\nEverything that was measured, with Fanfold's median divided by that of others:\n\n")
	b.WriteString("| what | system | median | min | max | unit | fanfold/system |\n|---|---|---|---|---|---|---|\n")
	for _, x := range list {
		if strings.HasPrefix(x.What, whatIdleCommand) {
			continue // these are many; the file has them
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n",
			x.What, x.System, figure(x.Median), figure(x.Min), figure(x.Max), x.Unit, ratio(list, x))
	}
	return b.String()
}
