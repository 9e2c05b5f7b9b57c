package format

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/report"
)

// layouts are formats, and the same formats for Go's time package.
var layouts = map[string]string{
	"":                           "2006-01-02 15:04:05",
	"YYYY-MM-DDTHH:mm:ssZZ":      "2006-01-02T15:04:05-07:00",
	"DD.MM.YY HH:mm":             "02.01.06 15:04",
	"MM/DD/YYYY hh:mm:ss AM":     "01/02/2006 03:04:05 PM",
	"YYYYMMDD HHmmss.ffffff / é": "20060102 150405.000000 / é",
	"HH:mm:ss.fff":               "15:04:05.000",
}

// TestMoments checks that datetimes are written as package time writes them.
func TestMoments(t *testing.T) {
	t.Parallel()
	var forms []string
	for form := range layouts {
		forms = append(forms, form)
	}
	zones := rapid.SampledFrom([]string{"", "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"})
	rapid.Check(t, func(t *rapid.T) {
		zone, source := zones.Draw(t, "zone"), zones.Draw(t, "source")
		c := CSVOptions{Datetime: DatetimeLayout(rapid.SampledFrom(forms).Draw(t, "form"))}
		m, err := newDateStyle(&c, source, zone)
		if err != nil {
			t.Fatal(err)
		}
		moment := time.Unix(rapid.Int64Range(-30e9, 200e9).Draw(t, "second"), 0).UTC()
		micros := rapid.IntRange(0, 999_999).Draw(t, "micros")
		fraction := time.Duration(micros) * time.Microsecond
		text := moment.Add(fraction).Format("2006-01-02 15:04:05.000000")
		// As a wall clock of the source's zone.
		at := report.OnDay(moment.Add(fraction), m.from).In(m.to)
		layout := layouts[string(c.Datetime)]
		if c.Datetime == "" {
			layout += ".000000"
		}
		want := at.Format(layout)
		if at.Year() > 9999 || at.Year() < 0 {
			return
		}
		got := text
		if m.changes(report.KindDatetime) {
			got = string(m.rewrite([]byte("before "+text), len("before "), report.KindDatetime))[len("before "):]
		} else if c.Datetime == "" {
			want = text
		}
		if got != want {
			t.Fatalf("%s from %q in %q as %q: %s, want %s", text, source, zone, c.Datetime, got, want)
		}
	})
}

// TestMomentsThatAreNoneOrTwo checks that a time that clocks skip when they go forward is moved to
// later, and that of a time that occurs twice when they go back the first is taken.
func TestMomentsThatAreNoneOrTwo(t *testing.T) {
	t.Parallel()
	m, err := newDateStyle(&CSVOptions{Datetime: "DD HH:mm ZZ"}, "Europe/Berlin", "UTC")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"2024-03-31 02:30:00": "31 01:30 +00:00", "2024-03-31 01:59:59": "31 00:59 +00:00", "2024-03-31 03:00:00": "31 01:00 +00:00",
		"2024-10-27 02:30:00": "27 00:30 +00:00", "2024-10-27 03:00:00": "27 02:00 +00:00", "2024-10-27 01:59:59": "26 23:59 +00:00",
	} {
		if got := string(m.rewrite([]byte(text), 0, report.KindDatetime)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// FuzzMoment checks that a text that is not a date or datetime is unchanged.
func FuzzMoment(f *testing.F) {
	for _, seed := range []string{"", "2024-02-29", "2023-02-29", "2024-02-29 23:59:60", "2024-02-29 24:00:00", "2024-01-01 00:00:00.", "2024-01-01 00:00:00.1234567890", "0000-00-00 00:00:00", "2024-1-1", "9999-12-31 23:59:59.999999", "2024-01-01T00:00:00Z", "２024-01-01"} {
		f.Add(seed)
	}
	m, err := newDateStyle(&CSVOptions{Date: "DD.MM.YYYY"}, "", "Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for kind, layout := range map[report.Kind]string{report.KindDate: time.DateOnly, report.KindDatetime: time.DateTime} {
			got := string(m.rewrite([]byte(text), 0, kind))
			at, err := time.Parse(layout, text)
			strict := err == nil && strings.HasPrefix(text, at.Format(layout)) // 0:00:00 is none
			if strict && at.In(m.to).Year() <= 9999 && len(text) <= len("2006-01-02 15:04:05.999999999") && !strings.Contains(text, ",") {
				want := at.In(m.to).Format("2006-01-02 15:04:05")
				if kind == report.KindDate {
					want = at.Format("02.01.2006")
				}
				if got == text && want != text || !strings.HasPrefix(got, want) {
					t.Errorf("%s %q became %q, want %q", kind, text, got, want)
				}
			} else if err != nil && got != text && !strings.Contains(text, ".") {
				t.Errorf("%s %q became %q, and is none: %v", kind, text, got, err)
			}
		}
	})
}

// TestParseMoment: the same texts are moments as in package time, and become the same ones.
func TestParseMoment(t *testing.T) {
	t.Parallel()
	check := func(text string, kind report.Kind) {
		rfc := strings.Replace(text, " ", "T", 1) + "Z"
		if kind == report.KindDate {
			rfc = text + "T00:00:00Z"
		}
		var want time.Time
		err := want.UnmarshalText([]byte(rfc))
		got, fraction, ok := parseMoment([]byte(text), kind)
		if ok != (err == nil) || ok && (got != want || kind != report.KindDate && string(fraction) != text[19:]) {
			t.Fatalf("%s %q: %v with fraction %q, %v; want %v, %v", kind, text, got, fraction, ok, want, err)
		}
	}
	for year := range 10_000 {
		for _, month := range []int{0, 1, 2, 3, 4, 7, 8, 9, 11, 12, 13} {
			for _, day := range []int{0, 1, 28, 29, 30, 31, 32} {
				check(fmt.Sprintf("%04d-%02d-%02d", year, month, day), report.KindDate)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		text := []byte("2024-02-29 12:34:56.123456789"[:19+random.IntN(11)])
		for range random.IntN(3) {
			const characters = "0123456789-: .,T\x00"
			if at := random.IntN(len(text)); at != 10 { // a blank, which the layout of package time has not
				text[at] = characters[random.IntN(len(characters))]
			}
		}
		check(string(text), report.KindDatetime)
	}
}
