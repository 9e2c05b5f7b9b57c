package format

import (
	"bytes"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/report"
)

// TestLocale: the file of a locale is what a spreadsheet of its country reads.
func TestLocale(t *testing.T) {
	t.Parallel()
	columns := datasettest.Columns("id", "integer", "paid", "decimal", "rate", "float", "note", "text", "ok", "boolean")
	var labels []report.FileColumn
	for _, c := range columns {
		labels = append(labels, report.FileColumn{Label: c.Name, Column: c.Name})
	}
	for _, c := range []struct {
		CSVOptions
		want string
	}{
		{CSVOptions{Locale: "de"}, "\ufeffid;paid;rate;note;ok\r\n12345678;-1234567,50;1,5e-07;1.5;true\r\n"},
		{CSVOptions{Locale: "de", Thousands: true, BOM: Unmarked}, "id;paid;rate;note;ok\r\n12345678;-1.234.567,50;1,5e-07;1.5;true\r\n"},
		{CSVOptions{Locale: "de", Delimiter: "\t"}, "\ufeffid\tpaid\trate\tnote\tok\r\n12345678\t-1234567,50\t1,5e-07\t1.5\ttrue\r\n"},
		{CSVOptions{Locale: "en-US", Thousands: true}, "\ufeffid,paid,rate,note,ok\r\n12345678,\"-1,234,567.50\",1.5e-07,1.5,true\r\n"},
		{CSVOptions{Locale: "en-IN", Thousands: true, Delimiter: ";"}, "\ufeffid;paid;rate;note;ok\r\n12345678;-12,34,567.50;1.5e-07;1.5;true\r\n"},
		{CSVOptions{Locale: "fr", Thousands: true}, "\ufeffid;paid;rate;note;ok\r\n12345678;-1\u00a0234\u00a0567,50;1,5e-07;1.5;true\r\n"},
	} {
		var out bytes.Buffer
		file, err := CSV.Begin(&report.File{Columns: labels, Options: &c.CSVOptions}, columns, Title{}, &out)
		if err != nil {
			t.Fatal(err)
		}
		cells := [][]byte{[]byte("12345678"), []byte(`"-1234567.50"`), []byte("1.5e-07"), []byte(`"1.5"`), []byte("true")}
		if err := writeRow(file, cells); err != nil {
			t.Fatal(err)
		}
		for _, cells := range [][][]byte{ // as they are
			{nil, nil, nil, nil, nil},
			{[]byte("1"), []byte(`"NaN"`), []byte(`"-"`), []byte(`"2.5"`), []byte("false")},
		} {
			if err := writeRow(file, cells); err != nil {
				t.Fatal(err)
			}
		}
		d := string(c.separator())
		c.want += d + d + d + d + "\r\n" + strings.Join([]string{"1", "NaN", "-", "2.5", "false"}, d) + "\r\n"
		if _, err := file.Close(); err != nil || out.String() != c.want {
			t.Errorf("%+v: %q, want %q (%v)", c.CSVOptions, out.String(), c.want, err)
		}
	}
}

// TestLocaleKeepsDigits: only the signs of a number change, whatever the locale is.
func TestLocaleKeepsDigits(t *testing.T) {
	t.Parallel()
	others := regexp.MustCompile(`[^0-9-]`)
	rapid.Check(t, func(t *rapid.T) {
		locale := Locale(rapid.SampledFrom([]string{"de", "de-CH", "en", "en-IN", "fr", "pt-BR", "sv", "tr"}).Draw(t, "locale"))
		digits := rapid.StringMatching(`-?(0|[1-9][0-9]{0,40})\.[0-9]{1,20}`).Draw(t, "number")
		n := locale.numbers()
		got := string(n.appendNumber(nil, []byte(digits), rapid.Bool().Draw(t, "grouped")))
		whole, fraction, _ := strings.Cut(got, n.decimal)
		back := strings.ReplaceAll(whole, n.group, "") + "." + fraction
		if back != digits || others.ReplaceAllString(got, "") != strings.ReplaceAll(digits, ".", "") {
			t.Errorf("%s became %q", digits, got)
		}
		if _, ok := new(big.Rat).SetString(back); !ok {
			t.Errorf("%q is no number", back)
		}
	})
}

// TestLocalesThatAreRefused: a locale that no spreadsheet reads back is an error.
func TestLocalesThatAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "not a locale", "german": "not a locale", "und": "not a locale", "fa": "other digits", "bn": "other digits",
		"de": "", "bn-u-nu-latn": "", "fr-CH": "",
	} {
		wrong := new(Locale).Parse(text)
		if (wrong == nil) != (want == "") || wrong != nil && !strings.Contains(wrong.Message, want) {
			t.Errorf("%q: %+v, want %q", text, wrong, want)
		}
	}
}
