package listenertest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// texts are values of parameters with characters that are special in SQL, URLs or JSON, and must not be
// interpreted there.
var texts = []string{
	"plain", "", " ", `'; DROP TABLE t; -- `, `" OR 1=1 -- `, `\' OR 1=1 -- `, "a`b",
	"\n\r\t\\", "%_", "%2F", ":text", "?", "a&b=c#d",
	"../../x", "{{text}}", "${HOME}", `{"a": [1]}`, "Ünïcödé 漢字 العربية हिन्दी 😀🏳️‍🌈", "<b>&amp;</b>",
}

func echoes(t *testing.T, f Fixture) {
	if f.Echo == nil {
		t.Skip("the fixture has no Echo")
	}
	for _, text := range texts {
		task := f.Echo(t, text)
		if task.Parameters["text"] != text {
			t.Fatalf("the task's parameter text is %q, not %q", task.Parameters["text"], text)
		}
		d := read(t, f.Source, task)
		var got string
		if len(d.Rows) == 1 {
			if err := json.Unmarshal([]byte(d.Rows[0][0]), &got); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		if len(d.Rows) != 1 || got != text {
			t.Errorf("%q became %q", text, d.Rows)
		}
	}
}

// earlier sets the values that a task finds in an earlier stage. They end with failure, if that is not
// nil.
func earlier(t *testing.T, task listeners.Task, list []string, failure error) listeners.Task {
	task.Values = func(_ context.Context, listener, column string) (dataset.Column, iter.Seq2[[]byte, error], error) {
		if listener != "s" || column != "v" {
			t.Errorf("the source reads %s.%s, not s.v", listener, column)
		}
		return dataset.Column{Name: column, Kind: report.KindInteger}, func(yield func([]byte, error) bool) {
			var buffer []byte // reused, as the contract allows
			for _, v := range list {
				if buffer = append(buffer[:0], v...); !yield(buffer, nil) {
					return
				}
			}
			if failure != nil {
				yield(nil, failure)
			}
		}, nil
	}
	return task
}

func values(t *testing.T, f Fixture) {
	if f.Values == nil {
		t.Skip("the fixture has no Values")
	}
	list := numbers(2500)
	slices.Reverse(list)
	double := append(slices.Clone(list), "null")
	d := read(t, f.Source, earlier(t, f.Values(t), append(double, list[:10]...), nil))
	got := d.column(0)
	slices.Sort(got)
	slices.Sort(list)
	want(t, "the rows", got, list)
}

func noValues(t *testing.T, f Fixture) {
	if f.Values == nil {
		t.Skip("the fixture has no Values")
	}
	if d := read(t, f.Source, earlier(t, f.Values(t), []string{"null"}, nil)); len(d.Rows) > 0 {
		t.Errorf("%d rows for no value", len(d.Rows))
	}
}

func valuesFail(t *testing.T, f Fixture) {
	if f.Values == nil {
		t.Skip("the fixture has no Values")
	}
	lost := errors.New("listenertest: the earlier stage cannot be read")
	_, err := Read(t.Context(), f.Source, earlier(t, f.Values(t), []string{"1", "2"}, lost))
	if !errors.Is(err, lost) || errors.Is(err, listeners.ErrPermanent) || errors.Is(err, listeners.ErrOutage) {
		t.Errorf("Read returns %v, not the error of the values unchanged", err)
	}
}

func wrong(t *testing.T, f Fixture) {
	if f.Wrong == nil {
		t.Skip("the fixture has no Wrong")
	}
	if _, err := Read(t.Context(), f.Source, f.Wrong(t)); !errors.Is(err, listeners.ErrPermanent) {
		t.Errorf("not a permanent error: %v", err)
	}
}

func away(t *testing.T, f Fixture) {
	if f.Away == nil {
		t.Skip("the fixture has no Away")
	}
	source, task := f.Away(t)
	if _, err := Read(t.Context(), source, task); !errors.Is(err, listeners.ErrOutage) {
		t.Errorf("not an outage: %v", err)
	}
}
