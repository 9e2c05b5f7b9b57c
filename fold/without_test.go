package fold

import (
	"bytes"
	"testing"

	"github.com/fanfold/fanfold/report"
)

// TestWithout checks that the rows are those of the join without the listener, and that its columns
// are empty or have their defaults, whatever the type of its join.
func TestWithout(t *testing.T) {
	t.Parallel()
	for _, kind := range []report.JoinType{report.Inner, report.Left, report.Full} {
		r := foldReport(report.Left, kind)
		r.Stages[1].Listeners[1].Values = map[string]string{"at": `"never, \"ever\""`}
		var rest, with bytes.Buffer
		sets := foldDatasets(t)
		delete(sets, "refunds")
		without := r.Without([]string{"refunds"})
		if _, err := foldTo(without, sets, &rest, Budget{}); err != nil {
			t.Fatal(err)
		}
		if _, needed := Needed(without)["refunds"]; needed {
			t.Error("a listener is read that was left out")
		}
		want := "Customer,\"Name, or \"\"alias\"\"\",text,amount,refunded,id\r\n" +
			"1,Ann,plain,10.00,\"never, \"\"ever\"\"\",01\r\n" +
			"1,Ann again,plain,10.00,\"never, \"\"ever\"\"\",1\r\n" +
			"2,Bob,\"comma, \"\"quote\"\"\",20.50,\"never, \"\"ever\"\"\",2\r\n"
		if got := rest.String(); len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("%s: %s", kind, got)
		}
		// Nothing of the report itself is changed.
		if _, err := foldTo(r, foldDatasets(t), &with, Budget{}); err != nil || bytes.Contains(with.Bytes(), []byte("never")) {
			t.Errorf("%v %s", err, with.String())
		}
	}
}

// TestWithoutAll checks that a join without all listeners but the first is a file of the first.
func TestWithoutAll(t *testing.T) {
	t.Parallel()
	r := foldReport(report.Inner, report.Inner)
	sets := map[string]Dataset{"payments": foldDatasets(t)["payments"]}
	var out bytes.Buffer
	made, err := foldTo(r.Without([]string{"refunds", "customers"}), sets, &out, Budget{})
	if err != nil || made.Rows != 5 || !bytes.HasSuffix(out.Bytes(), []byte("9,,,1.00,,\r\n")) {
		t.Errorf("%d rows %v: %s", made.Rows, err, out.String())
	}
}
