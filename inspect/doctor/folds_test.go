package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
)

// bytewise is a database that does not derive the collations of a query.
type bytewise struct{ Database }

func (bytewise) Columns(context.Context, *report.Report, *report.Listener) ([]dataset.Column, error) {
	return []dataset.Column{{Name: "id"}, {Name: "mail", Kind: report.KindText}},
		fault.Underivable.Of(errors.New("the texts of mail have no collation: wrong value 0"))
}

// TestColumnOfParts: doctor takes only one with whole numbers.
func TestColumnOfParts(t *testing.T) {
	t.Parallel()
	r := &report.Report{Name: "r"}
	l := &report.Listener{Name: "l", File: "f.yaml", Line: 3, Columns: []string{"id", "n"}, Divide: &report.Divide{By: "n", Line: 7}}
	for _, c := range []struct {
		of dataset.Column
		ok bool
	}{
		{dataset.Column{Kind: report.KindInteger}, true}, {dataset.Column{Kind: report.KindDecimal, Digits: 20}, true},
		{dataset.Column{Kind: report.KindDecimal}, true}, {dataset.Column{Kind: report.KindDecimal, Digits: 9, Scale: 2}, false},
		{dataset.Column{Kind: report.KindText}, false}, {dataset.Column{Kind: report.KindDate}, false},
	} {
		c.of.Name = "n"
		d := &doctor{columns: map[*report.Listener][]dataset.Column{}}
		found := d.compareColumns(r, l, []dataset.Column{{Name: "id", Kind: report.KindText}, c.of})
		if !c.ok && (len(found) != 1 || found[0].Result != Fail || found[0].Check != "parts r / l" || !strings.Contains(found[0].Hint, "f.yaml:7") ||
			found[0].Detail != "divide.by: column n is "+string(c.of.Kind)+", not whole numbers") || c.ok && found != nil {
			t.Errorf("%+v: %+v", c.of, found)
		}
	}
}

// unproved is a database that does not prove what connections see.
type unproved struct{ Database }

func (unproved) Prepare(context.Context, *report.Listener) error {
	return fault.Unproved.Of(errors.New("its binary log is off"))
}

// TestQueryThatCannotHaveParts: the hint is not the query, which is right.
func TestQueryThatCannotHaveParts(t *testing.T) {
	t.Parallel()
	l := report.Listener{Name: "l", Source: "db", File: "f.yaml", Line: 3, Divide: &report.Divide{By: "n", Line: 7}}
	r := &report.Report{Name: "r", Stages: []report.Stage{{Listeners: []report.Listener{l}}}}
	d := &doctor{Options: Options{Options: inspect.Options{Config: inspect.Config{Reports: map[string]*report.Report{"r": r}}}}}
	if found := checkQueries(t.Context(), d, "db", unproved{}); len(found) != 1 || found[0].Hint != "see divide in f.yaml:7" {
		t.Errorf("%+v", found)
	}
	if found := checkFolds(t.Context(), d); len(found) != 1 || found[0].Detail != "not checked: the types of no query are known" {
		t.Errorf("%+v", found)
	}
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

// slow is a database that does not tell the columns of a query in time.
type slow struct{ Database }

func (slow) Columns(context.Context, *report.Report, *report.Listener) ([]dataset.Column, error) {
	return nil, fault.Underivable.New("its columns are not known: it took 2s")
}

// TestColumnsThatAreNotTold: doctor warns that it does not know them, and names no mistake in the query.
func TestColumnsThatAreNotTold(t *testing.T) {
	t.Parallel()
	l := &report.Listener{Name: "l", File: "f.yaml", Line: 3, Columns: []string{"id"}}
	found := (&doctor{}).checkColumns(t.Context(), slow{}, &report.Report{Name: "r"}, l)
	if len(found) != 1 || found[0].Result != Warn || found[0].Check != "columns r / l" ||
		found[0].Detail != "its columns are not known: it took 2s" || !strings.Contains(found[0].Hint, "f.yaml:3") {
		t.Errorf("%+v", found)
	}
}
