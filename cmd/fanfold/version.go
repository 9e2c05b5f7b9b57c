package main

import (
	"runtime"
	"runtime/debug"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

// version is set by the Makefile.
var version = "dev"

func newVersion(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(c *cobra.Command, _ []string) error {
			v := versionView{Version: version, Go: runtime.Version()}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						v.Revision = s.Value
					}
				}
			}
			return f.print(c.OutOrStdout(), v)
		},
	}
}

type versionView struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
}

func (v versionView) table(t table.Writer) {
	t.AppendRow(table.Row{"fanfold", v.Version})
	if v.Revision != "" {
		t.AppendRow(table.Row{"revision", v.Revision})
	}
	t.AppendRow(table.Row{"go", v.Go})
}
