package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
)

// numbersTable is a table of the numbers from 1 to n.
func numbersTable(t *testing.T, query string, n int) table {
	t.Helper()
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i + 1
	}
	l := listing[int]{name: "numbers", path: "/numbers", prefix: "n.", key: strconv.Itoa, columns: []column[int]{
		{key: "id", title: "Id", order: byID(strconv.Itoa), cell: text(strconv.Itoa)},
		counted("even", "Even", func(i int) int { return 1 - i%2 }),
		{key: "note", title: "Note", cell: text(func(int) string { return "" })},
		{key: "acts", title: "Change", operator: true, cell: text(func(int) string { return "" })},
	}}
	return l.of(httptest.NewRequestWithContext(t.Context(), "GET", "/numbers?"+query, nil), rows)
}

// TestTable: the address of a page decides which rows a table shows, and in which order. Its links keep the rest of
// the address.
func TestTable(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                                  "1 to 100 of 250, 1 to 100, - /numbers?n.page=2",
		"n.page=2&view=x&message=m":         "101 to 200 of 250, 101 to 200, /numbers?n.page=1&view=x /numbers?n.page=3&view=x",
		"n.page=99":                         "201 to 250 of 250, 201 to 250, /numbers?n.page=2 -",
		"n.size=7":                          "1 to 7 of 250, 1 to 7, - /numbers?n.page=2&n.size=7",
		"n.size=1000&n.page=-3":             "1 to 200 of 250, 1 to 200, - /numbers?n.page=2&n.size=1000",
		"n.sort=-id&n.size=50":              "1 to 50 of 250, 250 to 201, - /numbers?n.page=2&n.size=50&n.sort=-id",
		"n.sort=-even&n.size=125&page=nine": "1 to 125 of 250, 2 to 250, - /numbers?n.page=2&n.size=125&n.sort=-even&page=nine",
		"n.sort=id":                         "1 to 100 of 250, 1 to 100, - /numbers?n.page=2&n.sort=id",
		"n.sort=nothing":                    "1 to 100 of 250, 1 to 100, - /numbers?n.page=2&n.sort=nothing",
	} {
		got := numbersTable(t, query, 250)
		text := fmt.Sprintf("%d to %d of %d, %s to %s, %s %s", got.From, got.To, got.Total,
			got.Rows[0].Key, got.Rows[len(got.Rows)-1].Key, cmp.Or(got.Previous, "-"), cmp.Or(got.Next, "-"))
		if text != want {
			t.Errorf("%q:\n%s, not\n%s", query, text, want)
		}
	}
	if got := numbersTable(t, "", 0); len(got.Rows) != 0 || got.Next != "" || got.Previous != "" {
		t.Errorf("%+v", got)
	}
}

// TestHeads: a head links to the table that is sorted by its column, the largest numbers first, and back.
func TestHeads(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][]head{
		"n.page=2": {{"Id", "", "/numbers?n.sort=id", ""}, {"Even", "number", "/numbers?n.sort=-even", ""}, {"Note", "", "", ""}},
		"n.sort=id": {
			{"Id", "", "/numbers?n.sort=-id", "ascending"}, {"Even", "number", "/numbers?n.sort=-even", ""}, {"Note", "", "", ""},
		},
		"n.sort=-even": {
			{"Id", "", "/numbers?n.sort=id", ""}, {"Even", "number", "/numbers?n.sort=even", "descending"}, {"Note", "", "", ""},
		},
	} {
		if got := numbersTable(t, query, 3); !slices.Equal(got.Heads, want) {
			t.Errorf("%s: %+v", query, got.Heads)
		}
	}
}

// TestColumns: the address chooses columns. The first one stays, and that of operators is for operators.
func TestColumns(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"": "Id Even Note", "n.columns=note": "Id Note", "n.columns=note,even": "Id Even Note",
		"n.columns=even&n.columns=note": "Id Even Note", "n.columns=acts": "Id", "n.columns=": "Id",
	} {
		got := numbersTable(t, query, 3)
		var titles []string
		for _, h := range got.Heads {
			titles = append(titles, h.Title)
		}
		if text := strings.Join(titles, " "); text != want || len(got.Rows[0].Cells) != len(titles) || len(got.Columns) != 2 {
			t.Errorf("%q: %s, not %s", query, text, want)
		}
	}
	got := numbersTable(t, "view=late&n.sort=-id&n.size=2&n.page=2&n.columns=note&message=m", 3)
	if kept := fmt.Sprint(got.Kept); kept != "[{n.sort -id} {view late}]" {
		t.Error("the form of the view keeps", kept)
	}
	if want := "/numbers?n.columns=note&n.page=2&n.size=2&n.sort=-id&view=late"; got.Here != want {
		t.Errorf("the link of the view is %s, not %s", got.Here, want)
	}
}

// TestByID: ids that are numbers are in the order of numbers, of any length.
func TestByID(t *testing.T) {
	t.Parallel()
	ids := []string{"b", "10", "9", "123456789012345678901234567890", "a"}
	slices.SortFunc(ids, byID(func(s string) string { return s }))
	if got := strings.Join(ids, " "); got != "9 10 123456789012345678901234567890 a b" {
		t.Error(got)
	}
}

// tenThousand is a sample with as many running jobs.
func tenThousand() *sample {
	now := time.Now()
	s := &sample{At: now, Full: true, Number: 1}
	for i := range 10_000 {
		s.Jobs = append(s.Jobs, inspect.Running{
			ID: strconv.Itoa(i), Report: "weekly", Status: "RUN", Attempt: 1, Stage: 1, Target: 2, Open: []string{"a", "b"},
			Bytes: int64(i * 7 % 1000), Started: now.Add(-time.Minute), Deadline: now.Add(time.Hour),
		})
	}
	return s
}

// BenchmarkJobs renders the page of running jobs, sorted by their data.
func BenchmarkJobs(b *testing.B) {
	d := New(Options{Inspect: &inspect.Inspector{}})
	d.jobs.reasons.next = time.Now().Add(time.Hour) // no query: the dashboard has no Inspector
	d.sampler.now.Store(tenThousand())
	h := loggedIn(b, d)
	for b.Loop() {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(context.Background(), "GET", "/jobs?sort=-data&page=5", nil)
		if h.ServeHTTP(w, r); w.Code != http.StatusOK {
			b.Fatal(w.Body.String())
		}
	}
}
