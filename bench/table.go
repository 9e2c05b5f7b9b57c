package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
)

// tables are what pages have between their begin, with that name, and end.
var tables = map[string]func(list []result) string{"targets": markdown, "systems": systemsTable, "masters": mastersTable, "growth": growthTable, "day": dayTable, "bucket": bucketTable, "folds": foldsTable, "formats": formatsTable}

const tableEnd = "<!-- end: written by bench -table -->\n"

func tableBegin(name string) string { return "<!-- begin " + name + ": written by bench -table -->\n" }

// printTable prints the results in a file as Markdown, or writes them into pages, with commas
// between their names.
func printTable(file, pages string) error {
	list, err := readResults(file)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("%s: no results: measure first", file)
	}
	if pages == "" {
		fmt.Print(markdown(list))
		return nil
	}
	for page := range strings.SplitSeq(pages, ",") {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		filled, err := withTables(string(text), list)
		if err == nil {
			err = os.WriteFile(page, []byte(filled), 0o644)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
	}
	return nil
}

// withTables fills in the tables of a page.
func withTables(text string, list []result) (string, error) {
	found := false
	for name, table := range tables {
		before, rest, begins := strings.Cut(text, tableBegin(name))
		if !begins {
			continue
		}
		_, after, ends := strings.Cut(rest, tableEnd)
		if !ends {
			return "", errors.New("the table " + name + " has no end")
		}
		text, found = before+tableBegin(name)+table(list)+tableEnd+after, true
	}
	if !found {
		return "", errors.New("it has no table of results")
	}
	return text, nil
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

// foldsTable has what folds take, beside DuckDB.
func foldsTable(list []result) string {
	var b strings.Builder
	b.WriteString("| fold | system | time | CPU | memory |\n|---|---|---|---|---|\n")
	for _, c := range foldCases {
		for _, system := range []string{"fanfold", onDuckDB(1), onDuckDB(2)} {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", strings.TrimPrefix(c.name, "fold, "),
				strings.Replace(system, "fanfold", "Fanfold", 1), measured(list, c.name+withFoldTime, system).in(" s"),
				measured(list, c.name+withFoldCPU, system).in(" s"), measured(list, c.name+withFoldMemory, system).in(" MB"))
		}
	}
	return b.String()
}

// systemsTable has what each system reaches, with 2 listeners, fastest first.
func systemsTable(list []result) string {
	var b strings.Builder
	b.WriteString("| system | jobs/s | one job when idle, median |\n|---|---|---|\n")
	for _, system := range []string{bareStreams, "fanfold", inMariaDB, "RabbitMQ", "asynq", "BullMQ"} {
		idle := measured(list, whatIdle+", median", system).in(" ms")
		if system == inMariaDB {
			idle = "" // no part measures it
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Replace(system, "fanfold", "Fanfold", 1),
			measured(list, coordinationOf(2)+withPushing, system).in(""), idle)
	}
	return b.String()
}
