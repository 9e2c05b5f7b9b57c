package command

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestOptionalParameters: a parameter that a record omits is null in a query, in a request to an
// API and for an external service.
func TestOptionalParameters(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked <- r.URL.RawQuery + " " + string(body)
		fmt.Fprint(w, `[{"k": 1}]`)
	}))
	t.Cleanup(api.Close)
	const parameters = `
    retry: 0
    parameters: {from: {type: date, default: null}, ids: {type: integer, list: true, default: null}, limit: {type: integer, default: "7"}}`
	s := newStack(t, `
  query:`+parameters+`
    listeners:
      one:
        database: db
        query: |
          SELECT id, day, :limit AS n FROM {schema}.days
          WHERE (:from IS NULL OR day >= :from) AND (COALESCE(:ids) IS NULL OR id IN (:ids)) ORDER BY id
  api:`+parameters+`
    listeners:
      two: {kind: http, api: vendor, columns: {k: $.k}, result: {method: POST, path: /x, query: {from: ":from", ids: ":ids"}, json: {from: ":from", ids: ":ids", limit: ":limit"}}}
  service:`+parameters+`
    listeners: {three: {kind: external, columns: [k]}}
`, fmt.Sprintf(`apis: {vendor: {url: "%s"}}`, api.URL))
	s.Records.Exec("CREATE TABLE days (id INT PRIMARY KEY, day DATE)")
	s.Records.Exec("INSERT INTO days VALUES (1, '2024-01-01'), (2, '2024-01-02'), (3, '2024-01-03')")
	s.Serve(s.File)
	for _, c := range []struct {
		record string
		args   []string
		days   []int
		api    string
		state  string
	}{
		{`{}`, nil, []int{1, 2, 3}, ` {"from":null,"ids":null,"limit":7}`, `{"from":null,"ids":null,"limit":7}`},
		{`{"from": null, "ids": null}`, nil, []int{1, 2, 3}, ` {"from":null,"ids":null,"limit":7}`, `{"from":null,"ids":null,"limit":7}`},
		{`{"from": "2024-01-02"}`, []string{"--param", "from=2024-01-02"}, []int{2, 3}, `from=2024-01-02 {"from":"2024-01-02","ids":null,"limit":7}`, `{"from":"2024-01-02","ids":null,"limit":7}`},
		{`{"from": "2024-01-02", "ids": [1, 3]}`, []string{"--param", "from=2024-01-02", "--param", "ids=[1,3]"}, []int{3}, `from=2024-01-02&ids=1&ids=3 {"from":"2024-01-02","ids":[1,3],"limit":7}`, `{"from":"2024-01-02","ids":[1,3],"limit":7}`},
	} {
		want := "id,day,n\r\n"
		for _, day := range c.days {
			want += fmt.Sprintf("%d,2024-01-0%d,7\r\n", day, day)
		}
		if got := s.Jobs.Succeed("query", c.record); got != want {
			t.Errorf("%s: %q", c.record, got)
		}
		if got, errOut, code := s.runApart(append([]string{"run", "query", "--file", "-"}, c.args...)...); code != exitOK || got != want {
			t.Errorf("%v: %d %q\n%s", c.args, code, got, errOut)
		}
		s.Jobs.Succeed("api", c.record)
		if got := <-asked; got != c.api {
			t.Errorf("%s: the API was asked %q", c.record, got)
		}
		id := s.Records.Insert("service", c.record)
		s.Jobs.Push(id)
		s.Eventually("the task", func() bool {
			return s.Redis.HExists(t.Context(), s.Partitions.Of(id).Keys.Job(id), "parameters").Val()
		})
		if got := s.Redis.HGet(t.Context(), s.Partitions.Of(id).Keys.Job(id), "parameters").Val(); got != c.state {
			t.Errorf("%s: the service gets %s", c.record, got)
		}
	}
	if v := s.Jobs.Run("query", `{"limit": null}`); v.Error != `parameters: limit is null (value null): give a whole number, or a string of its digits` {
		t.Errorf("%q", v.Error)
	}
}
