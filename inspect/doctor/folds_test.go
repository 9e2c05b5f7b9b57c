package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
)

// bytewise is a database that does not derive the collations of a query.
type bytewise struct{ Database }

func (bytewise) Columns(context.Context, *report.Report, *report.Listener) ([]dataset.Column, error) {
	return []dataset.Column{{Name: "id"}, {Name: "mail", Kind: report.KindText}},
		fault.Underivable.Of(errors.New("the texts of mail have no collation: wrong value 0"))
}

// TestTextsWithoutCollation: doctor warns of texts that compare by their bytes, and still knows their columns.
func TestTextsWithoutCollation(t *testing.T) {
	t.Parallel()
	r := &report.Report{Name: "r"}
	for name, want := range map[string]string{"mail": "", "name": "FAIL columns r / l"} {
		l := &report.Listener{Name: "l", File: "f.yaml", Line: 3, Columns: []string{"id", name}}
		d := &doctor{columns: map[*report.Listener][]dataset.Column{}}
		found := d.checkColumns(t.Context(), bytewise{}, r, l)
		if len(found) == 0 || found[0].Result != Warn || found[0].Check != "collations r / l" ||
			!strings.Contains(found[0].Detail, "the texts of mail have no collation") ||
			!strings.Contains(found[0].Hint, "f.yaml:3") || !strings.Contains(found[0].Hint, "COLLATE") {
			t.Fatalf("%+v", found)
		}
		got := ""
		for _, f := range found[1:] {
			got += f.Result + " " + f.Check
		}
		if got != want || (d.columns[l] == nil) != (want != "") {
			t.Errorf("%q, want %q; columns %v", got, want, d.columns[l])
		}
	}
}
