package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/config"
)

func newValidate(f *flags) *cobra.Command {
	var schema bool
	c := &cobra.Command{
		Use:   "validate",
		Short: "Check the configuration file, without connecting to anything",
		RunE: func(c *cobra.Command, _ []string) error {
			if schema {
				_, err := c.OutOrStdout().Write(config.Schema)
				return err
			}
			config, err := loadConfig(f.config)
			if err != nil {
				return err
			}
			if err := f.print(c.OutOrStdout(), reportViews(config)); err != nil || f.output == "json" {
				return err
			}
			for _, w := range config.Warnings {
				if _, err := fmt.Fprintln(c.OutOrStdout(), "warning:", w); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&schema, "schema", false, "print the JSON schema of the file, for editors, and check nothing")
	return c
}

// reportView is a report in short.
type reportView struct {
	Report     string     `json:"report"`
	Definition string     `json:"definition"`
	Parameters []string   `json:"parameters"`
	Stages     [][]string `json:"stages"`
	Timeout    string     `json:"timeout"`
	Columns    []string   `json:"columns"`
	Warnings   []string   `json:"warnings,omitempty"`
}

type reportTable []reportView

func reportViews(config *config.Config) reportTable {
	views := reportTable{}
	for _, r := range config.Reports {
		v := reportView{Report: r.Name, Definition: r.Hash(), Timeout: r.Timeout.String(), Parameters: []string{}, Columns: []string{}}
		for _, w := range config.Warnings {
			if strings.HasPrefix(w.Path, "reports."+r.Name+".") {
				v.Warnings = append(v.Warnings, w.Error())
			}
		}
		for _, p := range r.Parameters {
			v.Parameters = append(v.Parameters, p.Name)
		}
		for _, s := range r.Stages {
			var names []string
			for _, l := range s.Listeners {
				names = append(names, l.Name)
			}
			v.Stages = append(v.Stages, names)
		}
		for _, c := range r.CSV.Columns {
			v.Columns = append(v.Columns, c.Label)
		}
		views = append(views, v)
	}
	slices.SortFunc(views, func(a, b reportView) int { return strings.Compare(a.Report, b.Report) })
	return views
}

func (vs reportTable) table(t table.Writer) {
	t.AppendHeader(table.Row{"report", "definition", "parameters", "stages", "timeout", "columns"})
	for _, v := range vs {
		var stages []string
		for _, s := range v.Stages {
			stages = append(stages, strings.Join(s, ", "))
		}
		t.AppendRow(table.Row{
			v.Report, v.Definition, strings.Join(v.Parameters, ", "),
			strings.Join(stages, " → "), v.Timeout, strings.Join(v.Columns, ", "),
		})
	}
}
