package format

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/report"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	csv := &report.File{Format: "csv"}
	semicolons := &report.File{Format: "csv", Options: &CSVOptions{Delimiter: ";"}}
	plain := &report.File{Format: "plain"}
	kinds := Kinds{CSV, {Format: report.Format{Name: "plain"}}}
	for _, test := range []struct {
		f              *report.File
		expected, made string
		want           string
	}{
		{csv, "a,b\r\n1,2\r\n", "a,b\r\n1,2\r\n", ""},
		{csv, "a,b\r\n1,2\r\n", "a,b\r\n1,3\r\n", "line 2, column b: expected 2, but the file has 3"},
		{csv, "a,b\r\n1,2\r\n", "a,c\r\n1,2\r\n", "line 1, column 2: expected b, but the file has c"},
		{csv, "a,b\r\n1,\r\n", "a,b\r\n1,\"\"\r\n", "line 2, column b: expected an empty cell, but the file has \"\""},
		{csv, "\ufeffa\r\n1\r\n", "\ufeffa\r\n2\r\n", "line 2, column a: expected 1, but the file has 2"},
		{csv, "a,b\r\n\"x\r\ny\",2\r\n3,4\r\n", "a,b\r\n\"x\r\ny\",2\r\n3,5\r\n", "line 4, column b: expected 4, but the file has 5"},
		{csv, "a\r\n1\r\n2\r\n3\r\n", "a\r\n1\r\n3\r\n", "line 3 is missing: 2"},
		{csv, "a\r\n1\r\n3\r\n", "a\r\n1\r\n2\r\n3\r\n", "line 3 of the file is not expected: 2"},
		{csv, "a\r\n1\r\n2\r\n3\r\n", "a\r\n2\r\n4\r\n", "line 2 is missing: 1\nline 4 (3 of the file), column a: expected 3, but the file has 4"},
		{csv, "a,b\r\n1,2\r\n", "a,b\r\n1,2,3\r\n", "line 2: expected 2 columns, but the file has 3: 1 | 2 | 3"},
		{csv, "a\n1\n", "a\r\n1\r\n", `only line ends differ, from line 1 on: expected "\n", but the file has "\r\n". If Git changes them, write "expected.* -text" into .gitattributes`},
		{csv, "a\n1\r\n2\r\n", "a\r\n1\r\n3\r\n", "line 1 ends with \"\\r\\n\", not with the expected \"\\n\"\nline 3, column a: expected 2, but the file has 3"},
		{csv, "", "a\r\n", "line 1 of the file is not expected: a"},
		{csv, "a\r\n1", "a\r\n1\r\n", `only line ends differ, from line 2 on: expected "", but the file has "\r\n". If Git changes them, write "expected.* -text" into .gitattributes`},
		{semicolons, "a;b,c\r\n1;2,0\r\n", "a;b,c\r\n1;3,0\r\n", "line 2, column b,c: expected 2,0, but the file has 3,0"},
		{plain, "zoë=1\n", "zoë=2\n", "line 1, column 5: expected zoë=1, but the file has zoë=2"},
		{plain, "PK\x00\xff1", "PK\x00\xff2x", "byte 5 is the first that differs: expected 5 bytes in all, but the file has 6"},
	} {
		got := strings.Join(kinds.Differences(test.f, []byte(test.expected), []byte(test.made)), "\n")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q and %q: (-want +got)\n%s", test.expected, test.made, diff)
		}
	}
}

// TestDifferencesOfLargeFiles: no file is too large to be compared, and not all differences are listed.
func TestDifferencesOfLargeFiles(t *testing.T) {
	t.Parallel()
	var expected, made strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&expected, "%d\r\n", i)
		fmt.Fprintf(&made, "%d\r\n", i+i%2)
	}
	got := Kinds{CSV}.Differences(&report.File{Format: "csv"}, []byte(expected.String()), []byte(made.String()))
	if len(got) != maxDifferences+1 || got[0] != "line 2, column 0: expected 1, but the file has 2" || got[maxDifferences] != "… and 2480 more" {
		t.Errorf("%q", got)
	}
}
