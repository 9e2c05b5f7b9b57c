package command

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/scripts"
)

// evil has what a terminal would interpret: it clears the screen, sets the title, moves the cursor,
// in C0 and C1 codes, and reverses the direction of the text.
const evil = "\x1b[2Jx\x1b]0;title\x07y\rz\u009b31mq\u202er\x7f"

// TestTerminalEscapes: no command prints escape sequences in data to a terminal unchanged.
func TestTerminalEscapes(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	ctx, sc := t.Context(), s.Partitions.First()
	failed, strange := s.Records.Insert("slow", ""), s.Records.Insert("slow", "")
	s.Records.Exec("UPDATE file_download_record SET status = 'FAILED', error = ? WHERE id = ?", "failed "+evil, failed)
	s.Records.Exec("UPDATE file_download_record SET report = ?, file = ? WHERE id = ?", "r\x1b[2J\x07\r", "file:///\x1b[2J.csv", strange)
	for key, member := range map[string]string{
		sc.Keys.Dead: failed, sc.Keys.Delayed: "9/1/" + evil, sc.Keys.Timers: "t" + evil,
	} {
		s.Redis.ZAdd(ctx, key, redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: member})
	}
	if _, err := s.Partitions.Hold(ctx, "listener/"+evil, scripts.Hold{Who: "ann" + evil, Reason: evil}); err != nil {
		t.Fatal(err)
	}
	s.Redis.ZAdd(ctx, sc.Keys.Dead, redis.Z{Score: 1, Member: failed})
	if err := sc.Streams.Quarantine(ctx, sc.Keys.Jobs, "1-1", map[string]string{"id": "7" + evil}, "why "+evil); err != nil {
		t.Fatal(err)
	}
	parameter := s.Records.Insert("slow", `{"\u001b[2Jx\u009b": 1}`)
	stop := s.Serve(s.File)
	s.Jobs.Push(parameter)
	s.Jobs.Wait(parameter)
	stop()
	for _, args := range [][]string{
		{"status", failed}, {"status", strange}, {"status", parameter}, {"why", failed}, {"why", strange}, {"why", parameter}, {"list"}, {"dead", "ls"},
		{"delay", "ls"}, {"timer", "ls"}, {"pause", "ls"}, {"quarantine", "ls"}, {"doctor"}, {"watch", failed, parameter}, {"url", failed},
		{"submit", strange}, {"retry", strange}, {"adopt", strange}, {"status", "a" + evil},
	} {
		out, _ := s.fanfold(args...)
		if i := strings.IndexFunc(out, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u202e' }); i >= 0 {
			t.Errorf("fanfold %q: %q", args, out[max(0, i-20):min(len(out), i+20)])
		}
		// Every command shows the data with visible escapes.
		if args[0] != "url" && len(args) > 1 && args[1] == "ls" && !strings.Contains(out, `\u001b`) {
			t.Errorf("fanfold %q does not show it:\n%s", args, out)
		}
	}
	out, _ := s.fanfold("status", failed, "-o", "json")
	var v inspect.Job
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Error != "failed "+evil {
		t.Errorf("%v %q", err, v.Error)
	}
	// No data can add a line to the output.
	s.Records.Exec("UPDATE file_download_record SET error = 'x\n  record: SUCCESS' WHERE id = ?", failed)
	if out, _ := s.fanfold("why", failed); strings.Contains(out, "\n  record: SUCCESS") {
		t.Errorf("%s", out)
	}
}

// TestTablesInAPipe: in a pipe, every cell is in one line of any length; on a terminal, lines break
// between words only.
func TestTablesInAPipe(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("doesn't exist SELECT ", 40)
	var out bytes.Buffer
	c := &cobra.Command{}
	c.SetOut(screen.New(&out))
	if err := (printer{"table"}).printFindings(c, doctor.Findings{{Check: "c", Detail: long}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), strings.TrimSpace(long)) {
		t.Errorf("%s", out.String())
	}
	// On a terminal, the rows fit, if necessary in several lines.
	rows := []table.Row{{"1111", long, "file:///" + strings.Repeat("x", 100)}}
	writer := table.NewWriter()
	writer.AppendRow(rows[0])
	writer.Style().Options = table.OptionsNoBordersAndSeparators
	for _, width := range []int{80, 40, 300} {
		writer.SetColumnConfigs(screen.Columns(nil, rows, []table.ColumnConfig{wrapped(2), wrapped(3)}, true, width))
		for line := range strings.Lines(writer.Render()) {
			if n := len(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns on a terminal of %d", n, width)
			}
		}
	}
	wrapped := screen.WrapWords("one two three "+strings.Repeat("x", 30)+"\nnext", 10)
	if want := "one two\nthree\n" + strings.Repeat("x", 30) + "\nnext"; wrapped != want {
		t.Errorf("%q", wrapped)
	}
}
