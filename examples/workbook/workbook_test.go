package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/cmd/fanfold/command"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// asFanfold is the variable that makes the test binary run as fanfold.
const asFanfold = "FANFOLD_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asFanfold) == "" {
		testmain.Main(m)
		return
	}
	parent := os.Getppid()
	go func() { // it ends with the test, however the test ends
		for range time.Tick(time.Second) {
			if os.Getppid() != parent {
				os.Exit(1)
			}
		}
	}()
	command.Main()
}

// TestWorkbook runs the example, and reads its workbook: it has every order of MySQL from March to June, with its
// customer of PostgreSQL, and the type of every value.
func TestWorkbook(t *testing.T) {
	t.Setenv(asFanfold, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d := demo{fanfold: self, config: "fanfold.yaml", dir: t.TempDir(), out: &out}
	// go test repeats a cached result until a file changes that the test itself has read.
	if _, err := os.ReadFile(d.config); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := d.run(ctx); err != nil {
		log, _ := os.ReadFile(filepath.Join(d.dir, "serve.log"))
		t.Fatalf("%v\n%s\n%s", err, &out, log)
	}
	if want := "the sheet Orders with 6757 rows"; !bytes.Contains(out.Bytes(), []byte(want)) {
		t.Errorf("%s\nwant in it %q", &out, want)
	}
	sheets, err := read(filepath.Join(d.dir, "orders.xlsx"))
	if err != nil || len(sheets) != 1 || sheets[0].name != "Orders" {
		t.Fatalf("%v %v", sheets, err)
	}
	const text, datetime = "inlineStr", "yyyy-mm-dd hh:mm:ss"
	type shown [3]string // as a spreadsheet shows it, kind, number format
	var got [][]shown
	for _, row := range sheets[0].rows[:5] {
		var cells []shown
		for _, c := range row {
			cells = append(cells, shown{c.String(), c.Kind, c.Format})
		}
		got = append(got, cells)
	}
	var header []shown
	for _, label := range []string{
		"Order", "Invoice", "Ordered at", "Customer", "Country", "Customer since", "Amount", "Discount",
	} {
		header = append(header, shown{label, text})
	}
	want := [][]shown{header, {
		{"3324", "", "0"}, {"2024000000003324", text}, {"2024-03-01 01:24:00", "", datetime}, {"李雷 757", text},
		{"CN", text}, {"2017-01-27", "", "yyyy-mm-dd"}, {"230.88", "", "0.00"}, {"11.54", "", "0.00"},
	}, {
		{"3325", "", "0"}, {"2024000000003325", text}, {"2024-03-01 01:50:00", "", datetime}, {}, {}, {},
		{"231.25", "", "0.00"}, {},
	}, {
		{"3326", "", "0"}, {"2024000000003326", text}, {"2024-03-01 02:16:00", "", datetime}, {"Γιώργος 1595", text},
		{}, {"2019-05-15", "", "yyyy-mm-dd"}, {"231.62", "", "0.00"}, {"0.00", "", "0.00"},
	}, {
		{"3327", "", "0"}, {"2024000000003327", text}, {"2024-03-01 02:42:00", "", datetime}, {"=1+1 514", text},
		{"GB", text}, {"2016-05-29", "", "yyyy-mm-dd"}, {"231.99", "", "0.00"}, {"23.20", "", "0.00"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	names := []string{"Zoë", "李雷", "=1+1", "Γιώργος"}
	for i, row := range sheets[0].rows[1:] {
		order := 3324 + i
		customer, name := 1+order*7919%3000, ""
		if customer <= 2500 {
			name = names[customer%4] + " " + strconv.Itoa(customer)
		}
		if row[0].Value != strconv.Itoa(order) || row[3].Value != name {
			t.Fatalf("row %d is %s, and its customer %q, want %d %q", i+2, row[0], row[3], order, name)
		}
	}
}
