package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

// Results of a check.
const (
	pass = "PASS"
	warn = "WARN" // works, but not as well as it could
	fail = "FAIL" // does not work, or will lose something
)

// finding is the result of one check.
type finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

type findings []finding

func newDoctor(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check Redis, MySQL, APIs, the sink and the scratch folder, and report what is wrong",
		Long: `Doctor looks at everything that the configuration names, writes and deletes one
object in the sink and one scratch file, and changes nothing else. Exits with 1 if any check fails.`,
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), 2*time.Minute)
			defer cancel()
			var all findings
			all = append(all, within(ctx, b.checkRedis)...)
			all = append(all, b.checkDatabases(ctx)...)
			all = append(all, b.checkAPIs(ctx)...)
			if !all.failed("database " + b.config.Records.Database) {
				all = append(all, within(ctx, b.checkRecords)...)
			}
			all = append(all, within(ctx, b.checkSink), within(ctx, checkScratch))
			if err := f.print(c.OutOrStdout(), all); err != nil {
				return err
			}
			if n := all.count(fail); n > 0 {
				return fmt.Errorf("%d of %d checks failed", n, len(all))
			}
			return nil
		}),
	}
}

// checkTime bounds each check: a server that hangs leaves time for the others.
const checkTime = 15 * time.Second

// within makes a check in a time of its own.
func within[T any](ctx context.Context, check func(context.Context) T) T {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return check(ctx)
}

// failed tells whether a check FAILed.
func (fs findings) failed(check string) bool {
	for _, f := range fs {
		if f.Check == check {
			return f.Result == fail
		}
	}
	return false
}

func (fs findings) count(result string) int {
	var n int
	for _, f := range fs {
		if f.Result == result {
			n++
		}
	}
	return n
}

func (fs findings) table(t table.Writer) {
	t.AppendHeader(table.Row{"result", "check", "detail"})
	for _, f := range fs {
		detail := f.Detail
		if f.Hint != "" {
			detail += "\n→ " + f.Hint
		}
		t.AppendRow(table.Row{f.Result, f.Check, detail})
	}
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 3, WidthMax: 100}})
}

// judge makes a finding: PASS without an error, otherwise that result.
func judge(check, result, detail string, err error, hint string) finding {
	if err == nil {
		return finding{Check: check, Result: pass, Detail: detail}
	}
	return finding{Check: check, Result: result, Detail: err.Error(), Hint: hint}
}
