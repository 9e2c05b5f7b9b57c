package query_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/parse"
	queries "github.com/fanfold/fanfold/fold/query"
	"github.com/fanfold/fanfold/fold/value"
	"github.com/fanfold/fanfold/report"
)

// times returns a dataset of one row: 10:00 on a day, in a time zone.
func times(zone string) *memory {
	columns := []dataset.Column{
		{Name: "id", Kind: report.KindInteger}, {Name: "at", Kind: report.KindDatetime, Zone: zone}, {Name: "day", Kind: report.KindDate},
	}
	b := dataset.NewBuilder(columns)
	b.Int(0, 1)
	b.Text(1, []byte("2024-06-01 10:00:00"))
	b.Text(2, []byte("2024-06-01"))
	_ = b.EndRow()
	return &memory{columns: columns, chunks: [][][]byte{b.Fields()}}
}

// TestTimeZonesThatMeet: datetimes of two time zones are never compared by their clocks. A parameter that is an instant
// takes the zone of what it is compared with.
func TestTimeZonesThatMeet(t *testing.T) {
	t.Parallel()
	b := &bench{TB: t, sets: map[string]queries.Dataset{"u": times(""), "v": times("UTC"), "e": times("Europe/Berlin")}}
	const refused = "datetimes of the time zones UTC and Europe/Berlin meet"
	at := value.Type{Kind: value.Datetime, Scale: value.Floating}
	instant := at
	instant.Zone = value.Instant
	eight, ten := value.ToTemporal(value.OfText([]byte("2024-06-01 08:00:00")), value.Datetime), value.ToTemporal(value.OfText([]byte("2024-06-01 10:00:00")), value.Datetime)
	b.parameters = func(name string) (p expr.Parameter, ok bool) {
		p.Values, p.Types = []value.Value{eight}, []value.Type{instant} // 08:00 in UTC is 10:00 in Berlin
		switch name {
		case "clock":
			p.Values, p.Types = []value.Value{ten}, []value.Type{at}
		case "list":
			p.Values, p.Types, p.List = append(p.Values, ten), append(p.Types, at), true
		}
		return p, true
	}
	for query, want := range map[string]string{
		"SELECT u.id FROM u JOIN e ON e.at = u.at":                                                             "1:37: " + refused,
		"SELECT u.id FROM u JOIN e ON e.id = u.id WHERE u.at < e.at":                                           "1:48: " + refused,
		"SELECT u.id FROM u JOIN e ON e.id = u.id AND u.day < u.at AND u.day < e.at":                           "1",
		"SELECT e.id FROM u JOIN e ON e.id = u.id WHERE e.at BETWEEN '2024-01-01' AND u.at":                    "1:48: datetimes of the time zones Europe/Berlin and UTC meet",
		"SELECT u.id FROM u JOIN e ON e.id = u.id WHERE u.at IN ('2024-06-01', e.at)":                          "1:48: " + refused,
		"SELECT COALESCE(u.at, e.at) AS a FROM u JOIN e ON e.id = u.id":                                        "1:17: " + refused,
		"SELECT CASE WHEN u.id = 1 THEN u.at ELSE e.at END AS a FROM u JOIN e ON e.id = u.id":                  "1:32: " + refused,
		"SELECT GREATEST(u.at, e.at) AS a FROM u JOIN e ON e.id = u.id":                                        "1:17: " + refused,
		"SELECT DATEDIFF(u.at, e.at) AS a FROM u JOIN e ON e.id = u.id":                                        "1:17: " + refused,
		"SELECT TIMESTAMPDIFF(HOUR, u.at, e.at) AS a FROM u JOIN e ON e.id = u.id":                             "1:28: " + refused,
		"SELECT at FROM u UNION ALL SELECT at FROM e":                                                          "1:28: in the column at of a UNION, " + refused,
		"SELECT u.id FROM u JOIN v ON v.at = u.at":                                                             "1",
		"SELECT u.id FROM u JOIN e ON CONVERT_TZ(e.at, 'Europe/Berlin', 'UTC') = u.at":                         "",
		"SELECT u.id FROM u JOIN e ON CONVERT_TZ(u.at, 'UTC', 'Europe/Berlin') <> e.at AND e.id = u.id":        "1",
		"SELECT id FROM e WHERE at = :instant":                                                                 "1",
		"SELECT id FROM e WHERE at = :clock":                                                                   "1",
		"SELECT id FROM u WHERE at = :instant":                                                                 "",
		"SELECT id FROM u WHERE at = :clock":                                                                   "1",
		"SELECT id FROM u WHERE at IN (:list)":                                                                 "1",
		"SELECT id FROM e WHERE at IN (:list) AND :instant <= at AND at BETWEEN :instant AND :clock":           "1",
		"SELECT id FROM e WHERE at > DATE_SUB(:instant, INTERVAL 1 SECOND) AND at < :instant + INTERVAL 1 DAY": "1",
		"SELECT DATE_FORMAT(GREATEST(at, :instant), '%H:%i') AS a FROM e":                                      "10:00",
		"SELECT TIMESTAMPDIFF(HOUR, :instant, at) AS a FROM e":                                                 "0",
		"SELECT TIMESTAMPDIFF(HOUR, :instant, at) AS a FROM u":                                                 "2",
		"SELECT e.id FROM u JOIN e ON e.at = DATE_ADD(:instant, INTERVAL u.id DAY)":                            "1:30: a join by a datetime parameter that has a time zone",
		"SELECT DATE_FORMAT(CONVERT_TZ('2024-10-27 02:30:00', 'Europe/Berlin', 'UTC'), '%H:%i') AS a FROM u":   "00:30", // the first one
		"SELECT DATE_FORMAT(CONVERT_TZ('2024-03-31 02:30:00', 'Europe/Berlin', 'UTC'), '%H:%i') AS a FROM u":   "01:00", // it is skipped
		"SELECT DATE_FORMAT(at, '%H') AS a FROM (SELECT :instant AS at FROM e UNION ALL SELECT at FROM e) x":   "10,10",
	} {
		_, rows, err := b.run(query, 0)
		got := strings.Trim(strings.ReplaceAll(strings.Join(rows, ","), `"`, ""), " ")
		var wrong *parse.Error
		if errors.As(err, &wrong) {
			got = fmt.Sprintf("%d:%d: %v", wrong.Line, wrong.Column, err)
		}
		if got != want && (err == nil || want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%s:\ngot  %s\nwant %s", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"SELECT at FROM u": "", "SELECT at FROM e": "Europe/Berlin", "SELECT :instant AS at FROM e": "",
		"SELECT CONVERT_TZ(at, 'UTC', 'Asia/Tokyo') AS at FROM u":                           "Asia/Tokyo",
		"SELECT CONVERT_TZ(at, 'Europe/Berlin', '+00:00') AS at FROM e":                     "",
		"SELECT at + INTERVAL 1 DAY AS at FROM e":                                           "Europe/Berlin",
		"SELECT COALESCE(NULL, at, '2024-01-01') AS at FROM e WHERE id = 2 AND at > :clock": "",
	} {
		columns, _, err := b.run(query, 0)
		if err != nil || columns[0].Zone != want {
			t.Error(query, fmt.Sprint(columns), err)
		}
	}
}
