package fold

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/report"
)

// TestShort shows the SELECTs that joins stand for.
func TestShort(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		join report.Join
		file []report.FileColumn
		want string
	}{
		"one listener": {
			report.Join{Listeners: []report.Joined{{Listener: "fund.orders"}}},
			[]report.FileColumn{column("id", "fund.orders", "id"), column("Total", "fund.orders", "sum")},
			"SELECT fund.orders.id, fund.orders.sum AS Total\nFROM fund.orders",
		},
		"all types": {
			report.Join{Keys: []string{"user_id"}, Listeners: []report.Joined{
				{Listener: "withdrawals", Keys: []string{"user_id"}}, {Listener: "users", Type: report.Left, Keys: []string{"id"}},
				{Listener: "payments", Type: report.Full, Keys: []string{"user_id"}}, {Listener: "tags", Type: report.Inner, Keys: []string{"user_id"}},
			}},
			[]report.FileColumn{column("user_id", "", "user_id"), column("name", "users", "name")},
			"SELECT COALESCE(withdrawals.user_id, payments.user_id) AS user_id, users.name\nFROM withdrawals\n" +
				"LEFT JOIN users ON users.id = withdrawals.user_id\nFULL JOIN payments ON payments.user_id = withdrawals.user_id\n" +
				"JOIN tags ON tags.user_id = COALESCE(withdrawals.user_id, payments.user_id)",
		},
		"names": {
			report.Join{Keys: []string{"day", "code"}, Listeners: []report.Joined{
				{Listener: "group", Keys: []string{"day", "1st"}}, {Listener: "a.b-c", Type: report.Inner, Keys: []string{"order", "a`b"}},
			}},
			[]report.FileColumn{
				column("day", "", "day"), column("Day", "a.b-c", "order"), column("", "group", "1st"),
				column(strings.Repeat("x", 65), "group", "a.b"), column("two words", "", "code"),
			},
			"SELECT `group`.day, `a.b-c`.`order` AS `column 2`, `group`.`1st` AS `column 3`, `group`.`a.b` AS `column 4`, " +
				"`group`.`1st` AS `two words`\nFROM `group`\n" +
				"JOIN `a.b-c` ON `a.b-c`.`order` = `group`.day AND `a.b-c`.`a``b` = `group`.`1st`",
		},
	} {
		r := &report.Report{Join: test.join, File: report.File{Columns: test.file}}
		got := Select(r)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if _, err := parse.Parse(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := Select(&report.Report{Fold: "SELECT 1 FROM a"}); got != "SELECT 1 FROM a" {
		t.Error(got)
	}
}

// TestShortNames: a listener is found although another one has its name as the last part.
func TestShortNames(t *testing.T) {
	t.Parallel()
	r := &report.Report{
		Join: report.Join{Keys: []string{"id"}, Listeners: []report.Joined{
			{Listener: "x.users", Keys: []string{"id"}}, {Listener: "users", Type: report.Left, Keys: []string{"id"}},
		}},
		File: report.File{Format: "csv", Columns: []report.FileColumn{column("id", "", "id"), column("v", "users", "v"), column("w", "x.users", "v")}},
	}
	columns := datasettest.Columns("id", "integer", "v", "text")
	var out strings.Builder
	if _, err := foldTo(r, map[string]Dataset{
		"x.users": datasettest.Of(t, columns, 1, []any{1, "first"}), "users": datasettest.Of(t, columns, 1, []any{1, "second"}),
	}, &out, Budget{}); err != nil || out.String() != "id,v,w\r\n1,second,first\r\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestCollationsOfAJoin: a mistake of a join names its listener and a remedy for its query.
func TestCollationsOfAJoin(t *testing.T) {
	t.Parallel()
	sets := func(of ...string) map[string]Dataset {
		all := map[string]Dataset{}
		for i, collation := range of {
			all[string(rune('a'+i))] = Typed([]dataset.Column{{Name: "k", Kind: report.KindText, Collation: collation}})
		}
		return all
	}
	r := &report.Report{
		Join: report.Join{Keys: []string{"k"}, Listeners: []report.Joined{
			{Listener: "a", Keys: []string{"k"}}, {Listener: "b", Type: report.Full, Keys: []string{"k"}}, {Listener: "c", Type: report.Left, Keys: []string{"k"}},
		}},
		File: report.File{Columns: []report.FileColumn{column("k", "", "k")}},
	}
	const meet = `texts of the collations utf8mb4_general_ci and utf8mb4_unicode_ci meet. ` +
		"Write COLLATE utf8mb4_general_ci or COLLATE utf8mb4_unicode_ci after one of them, in the query of a listener"
	for _, test := range []struct {
		of   []string
		want string
	}{
		{[]string{"utf8mb4_general_ci", "utf8mb4_general_ci", "utf8mb4_general_ci"}, ""},
		{[]string{"utf8mb4_general_ci", "", "utf8mb4_general_ci"}, ""}, // such as of an API
		{[]string{"", "utf8mb4_general_ci", ""}, ""},
		{[]string{"utf8mb4_general_ci", "utf8mb4_bin", ""}, ""},
		{[]string{"", "utf8mb4_general_ci", "utf8mb4_unicode_ci"}, `join of listener "c": ` + meet},
		{[]string{"utf8mb4_general_ci", "utf8mb4_unicode_ci", ""}, `join of listener "b": ` + meet},
		{[]string{"utf8mb4_klingon_ci", "", ""}, `join of listener "b": Fanfold does not know the collation utf8mb4_klingon_ci. ` +
			"Write COLLATE utf8mb4_bin or another collation after one of them, in the query of a listener"},
	} {
		_, err := NewPlan(r, sets(test.of...), nil)
		if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
			t.Errorf("%q: %v, want %s", test.of, err, test.want)
		}
	}
}
