package moment

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestParse checks the formats of times.
func TestParse(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("test", 2*60*60)
	want := time.Date(2024, 6, 1, 7, 30, 0, 0, time.UTC)
	for _, text := range []string{
		"2024-06-01T09:30:00+02:00", "2024-06-01T07:30:00Z", "2024-06-01 09:30", "2024-06-01 09:30:00",
		strconv.FormatInt(want.Unix(), 10), strconv.FormatInt(want.UnixMilli(), 10),
	} {
		if got, err := Parse(text, zone); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "soon", "-1", "2024-06-01", "17175330000000000", "2030", "0930", "20270101", "99999999999999999999"} {
		if got, err := Parse(text, zone); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestAgo reads durations before now and times, and refuses anything else.
func TestAgo(t *testing.T) {
	t.Parallel()
	now, zone := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC), time.FixedZone("x", 2*3600)
	for text, want := range map[string]time.Time{
		"": {}, "90s": now.Add(-90 * time.Second), "1w2d1h": now.Add(-217 * time.Hour), "2024-06-01 09:30": time.Date(2024, 6, 1, 7, 30, 0, 0, time.UTC),
		"2024-06-01T09:30:00Z": time.Date(2024, 6, 1, 9, 30, 0, 0, time.UTC), "1717234200": time.Unix(1717234200, 0), "1717234200123": time.UnixMilli(1717234200123),
	} {
		if got, err := Ago(text, now, zone); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"soon", "24:00", "tomorrow", "noon noon", "yesterday 1d", "-1h", "0s", "12", "1d-2h", "2024-06-31 00:00"} {
		if got, err := Ago(text, now, zone); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestAgoByName: a time of the day is the last one, in the zone of the person.
func TestAgoByName(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("x", 2*3600)
	for _, c := range []struct{ now, text, want string }{
		{"14:00", "noon", "06-01 12:00"}, {"12:00", "noon", "06-01 12:00"}, {"11:59", "noon", "05-31 12:00"},
		{"14:00", "13:30", "06-01 13:30"}, {"14:00", "14:01", "05-31 14:01"}, {"00:30", "9:00", "05-31 09:00"},
		{"14:00", "yesterday", "05-31 00:00"}, {"00:30", "today", "06-01 00:00"},
		{"14:00", "yesterday noon", "05-31 12:00"}, {"14:00", "yesterday 23:15", "05-31 23:15"},
		{"11:00", "today noon", "06-01 12:00"},
	} {
		now, err := time.ParseInLocation(time.DateTime, "2024-06-01 "+c.now+":00", zone)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Ago(c.text, now.UTC(), zone); err != nil || got.In(zone).Format("01-02 15:04") != c.want {
			t.Errorf("%s at %s: %v %v", c.text, c.now, got, err)
		}
	}
	if _, err := Ago("soon", time.Now(), zone); err == nil || !strings.Contains(err.Error(), "noon, 09:30, yesterday") {
		t.Error(err)
	}
}

// TestSpan: its start belongs to it, its end does not, and an end that is not given is no bound.
func TestSpan(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)
	s, _, err := ParseSpan("2h", "1h", now, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	for before, want := range map[time.Duration]bool{3 * time.Hour: false, 2 * time.Hour: true, 90 * time.Minute: true, time.Hour: false} {
		if s.Has(now.Add(-before)) != want {
			t.Errorf("%s before now: %v", before, !want)
		}
	}
	if !(Span{}).Has(now) {
		t.Error("no bounds, and it has no time")
	}
	if _, end, err := ParseSpan("", "x", now, time.UTC); err == nil || end != "until" {
		t.Errorf("%q %v", end, err)
	}
}
