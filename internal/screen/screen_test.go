package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// TestFit: the widest columns are narrowed first, and none below the minimum.
func TestFit(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		widths []int
		total  int
	}{
		"[3 30 40]": {[]int{3, 30, 40}, 80},
		"[3 30 30]": {[]int{3, 30, 40}, 63},
		"[3 18 19]": {[]int{3, 30, 40}, 40},
		"[3 10 10]": {[]int{3, 30, 40}, 5},
		"[]":        {nil, 5},
	} {
		if got := fmt.Sprint(Fit(c.widths, c.total)); got != want {
			t.Errorf("%v in %d: %s, want %s", c.widths, c.total, got, want)
		}
	}
	if got, want := Wrap("a file:///0123456789\nänderung 李雷李雷李雷", 10), "a\nfile:///01\n23456789\nänderung\n李雷李雷李\n雷"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestScreen: a text that is written in pieces looks as if it were written at once.
func TestScreen(t *testing.T) {
	t.Parallel()
	text, want := "ä\x1b€\x9bend\u0085 😀\tx\n", `ä\u001b€`+"\uFFFD"+`end\u0085 😀`+"\tx\n"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		s := New(&out)
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			if _, err := s.Write([]byte(rest[:min(size, len(rest))])); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != want {
			t.Errorf("%d: %q", size, out.String())
		}
	}
}

// TestColumns: a table on a terminal has one line a row, which fits, and keeps the first and the last column.
func TestColumns(t *testing.T) {
	t.Parallel()
	header := table.Row{"id", "report", "status", "attempt", "parameters", "error"}
	rows := []table.Row{
		{"1111", "tagged-withdrawals", "PROCESSING", 1, "tag=vip from=2024-06-01", "one\n" + strings.Repeat("two ", 40)},
		{"2222", strings.Repeat("r", 100), "FAILED", 2, "", "李" + strings.Repeat("雷", 50)},
	}
	for width, want := range map[int]string{
		30: "ID ERROR", 60: "ID REPORT STATUS ERROR", 100: "ID REPORT STATUS ATTEMPT PARAMETERS ERROR",
	} {
		writer := NewTable(header, rows)
		writer.SetColumnConfigs(Columns(header, rows, nil, true, width))
		lines := strings.Split(writer.Render(), "\n")
		if len(lines) != 3 || strings.Join(strings.Fields(lines[0]), " ") != want {
			t.Errorf("%d lines in %d columns, not with %q:\n%s", len(lines), width, want, strings.Join(lines, "\n"))
		}
		for _, line := range lines {
			if n := text.StringWidth(line); n > width {
				t.Errorf("%d columns in %d: %s", n, width, line)
			}
		}
	}
}
