package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
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
	fanfold := map[string]float64{}
	for _, x := range list {
		if x.System == "fanfold" {
			fanfold[x.What] = x.Median
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tsystem\tmedian\tmin\tmax\tunit\tfanfold/system")
	for _, x := range list {
		ratio := ""
		// What may be below zero has no ratio.
		if median := fanfold[x.What]; median > 0 && x.Min > 0 && x.System != "fanfold" {
			ratio = fmt.Sprintf("%.2f", median/x.Median)
		}
		fmt.Fprintf(t, "%s\t%s\t%.4g\t%.4g\t%.4g\t%s\t%s\n", x.What, x.System, x.Median, x.Min, x.Max, x.Unit, ratio)
	}
	_ = t.Flush()
	for _, n := range r.notes {
		fmt.Fprintln(w, n)
	}
}

func (r *results) write(file string) error {
	b, err := json.MarshalIndent(r.list(), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}
