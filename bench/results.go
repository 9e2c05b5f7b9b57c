package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"
)

// result is one measured quantity over all rounds.
type result struct {
	What   string  `json:"what"`
	System string  `json:"system"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Unit   string  `json:"unit"`
}

// results collects values until they are printed.
type results struct {
	order  []result
	values map[[2]string][]float64
	notes  []string
}

// note says something beside the results, once.
func (r *results) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// add adds one round's value.
func (r *results) add(what, system, unit string, value float64) {
	if r.values == nil {
		r.values = map[[2]string][]float64{}
	}
	key := [2]string{what, system}
	if r.values[key] == nil {
		r.order = append(r.order, result{What: what, System: system, Unit: unit})
	}
	r.values[key] = append(r.values[key], value)
	fmt.Fprintf(os.Stderr, "%s, %s: %.4g %s\n", what, system, value, unit)
}

// list returns the results with median, minimum and maximum.
func (r *results) list() []result {
	list := slices.Clone(r.order)
	for i := range list {
		values := slices.Sorted(slices.Values(r.values[[2]string{list[i].What, list[i].System}]))
		list[i].Min, list[i].Max = values[0], values[len(values)-1]
		list[i].Median = (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	return list
}

func (r *results) print(w io.Writer) {
	list := r.list()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tsystem\tmedian\tmin\tmax\tunit\tfanfold/system")
	for _, x := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", x.What, x.System, figure(x.Median), figure(x.Min), figure(x.Max), x.Unit, ratio(list, x))
	}
	_ = t.Flush()
	for _, n := range r.notes {
		fmt.Fprintln(w, n)
	}
}

// ratio is what Fanfold has of the same, divided by this, where both say something.
func ratio(list []result, x result) string {
	fanfold, ok := find(list, x.What, "fanfold")
	// What may be below zero has no ratio.
	if !ok || fanfold.Median <= 0 || x.Min <= 0 || x.System == "fanfold" {
		return ""
	}
	return fmt.Sprintf("%.2f", fanfold.Median/x.Median)
}

// find returns the result of that name and system.
func find(list []result, what, system string) (result, bool) {
	i := slices.IndexFunc(list, func(x result) bool { return x.What == what && x.System == system })
	if i < 0 {
		return result{}, false
	}
	return list[i], true
}

// figure writes a number with three digits that count, or all before the point.
func figure(n float64) string {
	digits := 0
	for limit := 100.0; digits < 3 && math.Abs(n) < limit; limit /= 10 {
		digits++
	}
	return strconv.FormatFloat(n, 'f', digits, 64)
}

// readResults reads a file of results; none where there is no file.
func readResults(file string) (list []result, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || len(text) == 0 { // such as /dev/null
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}

// merged are those before, each replaced by that of the same name and system, and
// then the new ones.
func merged(before, measured []result) []result {
	list := slices.Clone(before)
	for _, x := range measured {
		i := slices.IndexFunc(list, func(y result) bool { return y.What == x.What && y.System == x.System })
		if i < 0 {
			list = append(list, x)
		} else {
			list[i] = x
		}
	}
	return list
}

func writeResults(file string, list []result) error {
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}
