package job

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const line = "3 FOLD 2 7 1763773822000 2/3 700 |users#2|funds| 1763774422000 1763773222000 a/b/hash/digest"

func TestParse(t *testing.T) {
	t.Parallel()
	fields := map[string]string{
		"job": line, "parameters": `{"x": 1}`, "listeners": "first;users,funds",
		"@fanin:owner": "w", "@fanin:tries": "2", "@fanin:error": "away", "@fanin:blame": "sink", "@fanin:next": "1763773222001",
		"first:found": `at=1763773222002 ms=7 chunks=1 rows=2 bytes=3 columns=[{"name": "c d"}]`,
		"users:owner": "v", "users:tries": "1", "users:lease": "1763773222003", "users:total": "0", "users:memo": "m",
		"funds:found": "omitted=optional error=gone = away",
	}
	fields["first:at"], fields["spooled"] = "file:///s/1-3-t=first=0-w= 1,2,70,0a1b2c3d", "70"
	want := &State{
		ID: "1", Report: "a/b", Definition: "hash", Parameters: []byte(`{"x": 1}`), Attempt: 3, Stage: 2, Status: StatusFold, Fence: 7, Worker: "w",
		Fold:    StepState{Tries: 2, Error: "away", Blame: BlameSink, Next: time.UnixMilli(1763773222001)},
		Started: time.UnixMilli(1763773222000), Deadline: time.UnixMilli(1763773822000), Done: 2, Target: 3, Bytes: 700, Spooled: 70, Listeners: []string{"users", "funds"},
		Tasks: map[string]TaskState{
			"first": {
				StepState: StepState{Tries: 1}, Stage: 1, Chunks: 1, Total: -1, Rows: 2, Bytes: 3, Done: true, DoneAt: time.UnixMilli(1763773222002),
				Took: 7 * time.Millisecond, At: "file:///s/1-3-t=first=0-w= 1,2,70,0a1b2c3d", Columns: []byte(`[{"name": "c d"}]`),
			},
			"users": {StepState: StepState{Tries: 2}, Stage: 2, Generation: 2, Owner: "v", Lease: time.UnixMilli(1763773222003), Memo: []byte("m")},
			"funds": {StepState: StepState{Tries: 1}, Stage: 2, Total: -1, Done: true, Failed: "gone = away", Policy: "optional"},
		},
	}
	got, err := Parse("1", fields)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(diff, err)
	}
	if !got.NeedsDefinition() || got.Ended() {
		t.Error("it runs")
	}
	for field, text := range map[string]string{
		"job": "3 FOLD 2", "@fanin:tries": "x", "first:found": "rows=", "users:lease": "soon", "funds:found": "omited=optional",
	} {
		broken := maps.Clone(fields)
		broken[field] = text
		if _, err := Parse("1", broken); err == nil {
			t.Errorf("%s is %q", field, text)
		}
	}
}

// TestParseParts: the memo of a task that is read in parts says what it has so far, until its segments are listed.
func TestParseParts(t *testing.T) {
	t.Parallel()
	const more = `"bounds":[1,2],"rows":7,"bytes":50,"read":["file:///s/x= 1,7,50,0a1b2c3d","-",""]`
	for memo, want := range map[string]TaskState{
		`{"memo":{` + more + `}}`:             {Rows: 7, Parts: 3, PartsRead: 2, PartsBytes: 50},
		`{"memo":{` + more + `,"void":true}}`: {},
		`{"memo":{"rows":7}}`:                 {}, // a source's
		`{"memo":["a"]}`:                      {},
		`m`:                                   {},
	} {
		got, err := Parse("1", map[string]string{"job": line, "listeners": "users,funds", "users:memo": memo, "spooled": "5"})
		if err != nil {
			t.Fatal(err)
		}
		a := got.Tasks["users"]
		if a.Rows != want.Rows || a.Parts != want.Parts || a.PartsRead != want.PartsRead || a.PartsBytes != want.PartsBytes ||
			got.InSpool() != 5+want.PartsBytes || BytesInParts([]byte(memo)) != want.PartsBytes {
			t.Errorf("%s: %+v", memo, a)
		}
	}
}

// TestParseReopened: a listener of an earlier stage that runs again is one that the job waits for.
func TestParseReopened(t *testing.T) {
	t.Parallel()
	got, err := Parse("1", map[string]string{
		"job": "1 RUN 2 4 1763773822000 1/3 0 |c|b#3| 1763774422000 1763773222000 r/d/digest", "listeners": "a,b;c", "a:found": "chunks=1",
	})
	if err != nil || !slices.Equal(got.Listeners, []string{"b", "c"}) {
		t.Fatalf("it waits for %q: %v", got.Listeners, err)
	}
	if b := got.Tasks["b"]; b.Stage != 1 || b.Generation != 3 || b.Done || len(got.Tasks) != 3 {
		t.Errorf("%+v", got.Tasks)
	}
}

func TestParseLine(t *testing.T) {
	t.Parallel()
	state, err := ParseLine(line)
	if err != nil || state.Attempt != 3 || state.Report != "a/b" || state.Definition != "hash" {
		t.Error(state, err)
	}
	if attempt, status := Head(line); attempt != 3 || status != StatusFold {
		t.Error(attempt, status)
	}
	if attempt, status := Head("none"); attempt != 0 || status != "" {
		t.Error(attempt, status)
	}
	if open := OpenListeners("1 RUN 1 0 1763773822000 1/2 700 |users#2|b.c| 1763774422000 1763773222000 r/hash/digest"); !slices.Equal(open, []string{"users", "b.c"}) {
		t.Errorf("%q are open", open)
	}
	if open := OpenListeners("1 READY 1 0 1763773822000 2/2 700 | 1763774422000 1763773222000 r/hash/digest"); open != nil {
		t.Errorf("%q are open", open)
	}
	for _, text := range []string{"", "3 FOLD", "x" + line[1:]} {
		if _, err := ParseLine(text); err == nil {
			t.Errorf("%q is a line", text)
		}
	}
}

// TestTombstone reads what the summary of a state is at its end.
func TestTombstone(t *testing.T) {
	t.Parallel()
	tasks := map[string]TaskState{
		"done":    {StepState: StepState{Tries: 1}, Total: -1, Done: true, Rows: 7, Took: 9 * time.Millisecond},
		"left":    {StepState: StepState{Tries: 2}, Total: -1},
		"omitted": {StepState: StepState{Tries: 3}, Total: -1, Done: true, Policy: "omitted"},
	}
	for _, c := range []struct {
		tasks map[string]TaskState
		want  State
	}{
		{tasks, State{Status: "PARTIAL", File: "a file.csv"}},
		{map[string]TaskState{}, State{Status: "FAILED", Reason: "a reason"}},
	} {
		text := "2 " + c.want.Status + " a/b/hash/digest " + (&State{Tasks: c.tasks}).Summary() + " " + c.want.File + c.want.Reason
		c.want.ID, c.want.Attempt, c.want.Report, c.want.Definition, c.want.Tasks = "1", 2, "a/b", "hash", c.tasks
		got, err := Parse("1", map[string]string{"ended": text})
		if diff := cmp.Diff(&c.want, got); err != nil || diff != "" {
			t.Error(diff, err)
		}
		if !got.Ended() || got.NeedsDefinition() {
			t.Error("it has ended")
		}
	}
	if _, err := Parse("1", map[string]string{"ended": "2 FAILED"}); err == nil {
		t.Error("a text that is no tombstone")
	}
}
