package record_test

import (
	"slices"
	"testing"

	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// TestListWithinScopes: a list has the records of one of some scopes, by the bytes of their owners.
func TestListWithinScopes(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		for _, of := range []Request{
			{Report: "a", Owner: "ann"}, {Report: "a", Owner: "Ann"}, {Report: "b", Owner: "ann", Tenant: "acme"}, {Report: "b"},
		} {
			if _, err := s.Insert(t.Context(), of); err != nil {
				t.Fatal(err)
			}
		}
		run(t, db, "ALTER TABLE file_download_record ADD COLUMN number BIGINT NULL")
		numbers := store(t, db, report.Records{Columns: map[string]string{"owner": "number"}})
		for _, c := range []struct {
			of     *Store
			within []report.Scope
			want   string
		}{
			{s, nil, "1234"},
			{s, []report.Scope{}, ""},
			{s, []report.Scope{{}}, "1234"},
			{s, []report.Scope{{Owner: "ann"}}, "13"},
			{s, []report.Scope{{Owner: "ann", Reports: []string{"a", "c"}}}, "1"},
			{s, []report.Scope{{Tenant: "acme"}, {Reports: []string{"a"}}}, "123"},
			{s, []report.Scope{{Owner: "ann' OR '1' = '1"}}, ""},
			{numbers, []report.Scope{{Tenant: "acme"}}, ""}, // it has no such column
			{numbers, []report.Scope{{Owner: "ann"}}, ""},
		} {
			found, err := c.of.List(t.Context(), Filter{Within: c.within}, 10)
			var ids []string
			for _, r := range found {
				ids = append(ids, r.ID)
			}
			slices.Sort(ids)
			got := ""
			for _, id := range ids {
				got += id
			}
			if err != nil || got != c.want {
				t.Errorf("%+v: %s, want %s: %v", c.within, got, c.want, err)
			}
		}
	})
}
