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

// texts are what parameters are tried with: what stands for something else in SQL, a
// URL or JSON must not do so.
var texts = []string{
	"plain", "", " ", `'; DROP TABLE t; -- `, `" OR 1=1 -- `, `\' OR 1=1 -- `, "a`b", "\n\r\t\\", "%_", "%2F", ":text", "?", "a&b=c#d",
	"../../x", "{{text}}", "${HOME}", `{"a": [1]}`, "Ünïcödé 漢字 العربية हिन्दी 😀🏳️‍🌈", "<b>&amp;</b>",
}

func echoes(t *testing.T, p Place) {
	if p.Echo == nil {
		t.Skip("the place has no Echo")
	}
	for _, text := range texts {
		task := p.Echo(t, text)
		if task.Parameters["text"] != text {
			t.Fatalf("the task's parameter text is %q, not %q", task.Parameters["text"], text)
		}
		d := read(t, p.Source, task)
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

// earlier makes a task's Values those of an earlier stage, which end with an error
// where there is one.
func earlier(t *testing.T, task listeners.Task, list []string, failure error) listeners.Task {
	task.Values = func(_ context.Context, listener, column string) (dataset.Column, iter.Seq2[[]byte, error], error) {
		if listener != "s" || column != "v" {
			t.Errorf("the source reads %s.%s, not s.v", listener, column)
		}
		return dataset.Column{Name: column, Kind: report.KindInteger}, func(yield func([]byte, error) bool) {
			var buffer []byte // used again, as it may be
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

func values(t *testing.T, p Place) {
	if p.Values == nil {
		t.Skip("the place has no Values")
	}
	list := numbers(2500)
	slices.Reverse(list)
	double := append(slices.Clone(list), "null")
	d := read(t, p.Source, earlier(t, p.Values(t), append(double, list[:10]...), nil))
	got := d.column(0)
	slices.Sort(got)
	slices.Sort(list)
	want(t, "the rows", got, list)
}

func noValues(t *testing.T, p Place) {
	if p.Values == nil {
		t.Skip("the place has no Values")
	}
	if d := read(t, p.Source, earlier(t, p.Values(t), []string{"null"}, nil)); len(d.Rows) > 0 {
		t.Errorf("%d rows for no value", len(d.Rows))
	}
}

func valuesFail(t *testing.T, p Place) {
	if p.Values == nil {
		t.Skip("the place has no Values")
	}
	lost := errors.New("listenertest: the earlier stage cannot be read")
	_, err := Read(t.Context(), p.Source, earlier(t, p.Values(t), []string{"1", "2"}, lost))
	if !errors.Is(err, lost) || errors.Is(err, listeners.ErrPermanent) || errors.Is(err, listeners.ErrOutage) {
		t.Errorf("Read returns %v, and the error of the values is to be returned as it is", err)
	}
}

func wrong(t *testing.T, p Place) {
	if p.Wrong == nil {
		t.Skip("the place has no Wrong")
	}
	if _, err := Read(t.Context(), p.Source, p.Wrong(t)); !errors.Is(err, listeners.ErrPermanent) {
		t.Errorf("not a permanent error: %v", err)
	}
}

func away(t *testing.T, p Place) {
	if p.Away == nil {
		t.Skip("the place has no Away")
	}
	source, task := p.Away(t)
	if _, err := Read(t.Context(), source, task); !errors.Is(err, listeners.ErrOutage) {
		t.Errorf("not an outage: %v", err)
	}
}
