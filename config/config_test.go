package config

import (
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
	"github.com/google/go-cmp/cmp"
)

//go:embed testdata/ca.pem
var authority string

// testEnvironment has a variable and a file of each kind that tests need.
func testEnvironment() decode.Environment {
	variables := map[string]string{"USER_DB_PASSWORD": canary, "TASKS": "8", "EMPTY": "", "INJECTED": "a, b: {c: d}\n- e"}
	files := map[string]string{"fund.password": canary + "\n", "empty": "\n", "redis": "redis://:" + canary + "@redis:6379/3\n", "dsn": "app:" + canary + "@tcp(db)/x", "bad-dsn": canary, "ca.pem": authority}
	maps.Copy(files, sqlFiles)
	maps.Copy(files, moreFiles)
	return decode.Environment{
		Glob: func(pattern string) ([]string, error) {
			var found []string
			for _, name := range slices.Sorted(maps.Keys(files)) {
				switch ok, err := path.Match(pattern, name); {
				case err != nil:
					return nil, err
				case ok:
					found = append(found, name)
				}
			}
			return found, nil
		},
		Lookup: func(name string) (string, bool) {
			value, ok := variables[name]
			return value, ok
		},
		ReadFile: func(name string) ([]byte, error) {
			if name == "forbidden" {
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
			}
			content, ok := files[name]
			if !ok {
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
			}
			return []byte(content), nil
		},
	}
}

// canary is the password in all tests. No message may have it.
const canary = "pa:s/s@w0rd-7Qx"

func TestLoad(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Load("good.yaml", data, testEnvironment(), TestKinds)
	if err != nil {
		t.Fatal(err)
	}
	tag, withdraw, payment := "plt_user.vs_user_tag_relation", "plt_fund.vs_withdraw", "plt_fund.vs_payment"
	tries, eight := report.Retry{Retries: 3, Delay: 10 * time.Second, Exponential: true, MaxDelay: 25 * time.Second}, report.Retry{Retries: 8, Delay: time.Minute, Exponential: false, MaxDelay: time.Hour}
	want := &Config{
		Redis: report.Redis{URL: "redis://127.0.0.1:6379/0", Partitions: 1},
		Databases: map[string]report.Database{
			"user": {Name: "user", Kind: "mysql", DSN: "app:" + canary + "@tcp(127.0.0.1:3306)/plt_user", MaxConnections: 10},
			"fund": {Name: "fund", Kind: "mysql", DSN: "app:" + canary + "@tcp(127.0.0.1:3307)/plt_fund", MaxConnections: 20, TimeZone: "Europe/Berlin"},
		},
		APIs: map[string]report.API{},
		Records: report.Records{
			Database: "user", Table: "file_download_record", Filter: "type = 'export'",
			Columns: map[string]string{"status": "state", "error": "-"}, Statuses: map[string]string{"PENDING": "0"}, ParameterBytes: 128 << 10,
			History: 48 * time.Hour, Audit: 96 * time.Hour,
		},
		Sink:   report.Sink{URL: "gs://reports/exports"},
		Spool:  report.Spool{Sink: report.Sink{URL: "gs://reports/spool"}, Above: 4 << 20},
		Admin:  report.Admin{Listen: "127.0.0.1:9464"},
		HTTP:   report.Site{Language: "en"},
		Files:  []string{"good.yaml"},
		Traces: report.Traces{URL: "http://127.0.0.1:4318", Sample: 0.25, Timeout: 5 * time.Second, Queue: 2048, Headers: map[string]report.Secret{"Authorization": canary}},
		Limits: report.Limits{RunningJobs: 100, LargeFiles: 4, FoldMemory: 64 << 20, RecoverAfter: time.Minute, Lease: 5 * time.Second, ShutdownTimeout: time.Minute, RedisMemoryPercent: 90, JobBytes: 512 << 20, SpoolBytes: 64 << 30, Compress: true, RebuildPerSecond: 50, ParameterBytes: 128 << 10},
		Keys:   report.Keys{Prefix: "fanfold:", Hash: "FileDownloadRecordEntity-", Replies: "replies:"},
		Reports: map[string]*report.Report{
			"tagged-withdrawals": {
				Name: "tagged-withdrawals", Line: 9, DeadlineWaits: true, Timeout: 45 * time.Minute, Retry: tries,
				Parameters: []report.Parameter{
					{Name: "tag", Type: report.ParamString},
					{Name: "from", Type: report.ParamDate, Default: new(`"2024-01-01"`)},
					{Name: "users", Type: report.ParamInteger, List: true, Default: new(`[1,2]`)},
				},
				Stages: []report.Stage{
					{Listeners: []report.Listener{
						{Name: tag, File: "good.yaml", Line: 17, Kind: "mysql", Source: "user", Columns: []string{"user_id", "tag"}, Timeout: 5 * time.Minute, Retry: tries,
							Own: parsed(t, "SELECT user_id, tag FROM plt_user.vs_user_tag_relation WHERE tag = :tag AND user_id IN (:users)")},
						{Name: withdraw, File: "good.yaml", Line: 18, Kind: "mysql", Source: "fund", Zone: "Europe/Berlin", Columns: []string{"user_id", "amount", "status", "created_at"}, Timeout: 2 * time.Minute, Retry: report.Retry{Retries: 3, Delay: 20 * time.Second, Exponential: true, MaxDelay: 25 * time.Second},
							Own: parsed(t, "SELECT user_id, amount, status, created_at FROM plt_fund.vs_withdraw WHERE created_at >= :from")},
					}},
					{Listeners: []report.Listener{
						{Name: payment, File: "good.yaml", Line: 19, Kind: "mysql", Source: "fund", Zone: "Europe/Berlin", Columns: []string{"uid", "paid", "status"}, Timeout: 5 * time.Minute, Retry: report.Retry{Retries: 1, Delay: 10 * time.Second, Exponential: false, MaxDelay: 25 * time.Second},
							From: &report.Ref{Listener: withdraw, Column: "user_id"},
							Own: parsed(t, "-- the :comment and 's' quote are no parameters; ${this} is no variable\n"+
								"SELECT uid, SUM(amount) AS paid, \":no\" AS status FROM plt_fund.vs_payment\n"+
								"WHERE uid IN (:plt_fund.vs_withdraw.user_id) GROUP BY uid\n")},
					}},
				},
				Join: report.Join{Keys: []string{"user_id"}, Listeners: []report.Joined{
					{Listener: tag, Type: report.Inner, Keys: []string{"user_id"}}, {Listener: withdraw, Type: report.Left, Keys: []string{"user_id"}}, {Listener: payment, Type: report.Full, Keys: []string{"uid"}},
				}},
				File: report.File{
					Format: "csv", Name: "withdrawals {from}, {id}", TimeZone: "Europe/Berlin", Compress: report.Gzip, MaxRows: 1048575, MaxBytes: 25 << 20,
					Options: &format.CSVOptions{
						BOM: format.Marked, Delimiter: ";", LF: true, Null: new(format.Null("NULL")),
						Date: "DD.MM.YYYY", Datetime: "DD.MM.YYYY HH:mm ZZ", Formulas: format.FormulasEscape,
					},
					Columns: []report.FileColumn{
						{Label: "user_id", Listener: "", Column: "user_id"}, {Label: "tag", Listener: tag, Column: "tag"}, {Label: "Withdrawn", Listener: withdraw, Column: "amount"}, {Label: "paid", Listener: payment, Column: "paid"},
					},
				},
			},
			"users": {
				Name: "users", Line: 52, DeadlineWaits: true, Timeout: 21 * time.Minute, Retry: report.DefaultRetry,
				Stages: []report.Stage{{Listeners: []report.Listener{
					{Name: "users", File: "good.yaml", Line: 54, Kind: "mysql", Source: "user", Columns: []string{"id"}, Timeout: 5 * time.Minute, Retry: report.Retry{Retries: 0, Delay: time.Minute, Exponential: false, MaxDelay: time.Hour}, Own: parsed(t, "SELECT id FROM users")},
				}}},
				Join: report.Join{Listeners: []report.Joined{{Listener: "users", Type: report.Inner, Keys: nil}}},
				File: report.File{Format: "csv", Options: &format.CSVOptions{Formulas: format.FormulasEscape}, Columns: []report.FileColumn{{Label: "id", Listener: "users", Column: "id"}}},
			},
			"pairs": {
				Name: "pairs", Line: 55, DeadlineWaits: true, Timeout: 71 * time.Minute, Retry: eight,
				Stages: []report.Stage{{Listeners: []report.Listener{
					{Name: "a", File: "good.yaml", Line: 58, Kind: "mysql", Source: "user", Columns: []string{"x", "y", "note", "only"}, Timeout: 5 * time.Minute, Retry: eight, Own: parsed(t, "SELECT x, y, note, only FROM a")},
					{Name: "b", File: "good.yaml", Line: 59, Kind: "mysql", Source: "user", Columns: []string{"x", "y2", "note", "y"}, Timeout: 5 * time.Minute, Retry: eight, Own: parsed(t, "SELECT x, y2, note, y FROM b")},
				}}},
				Join: report.Join{Keys: []string{"x", "y"}, Listeners: []report.Joined{
					{Listener: "a", Type: report.Inner, Keys: []string{"x", "y"}}, {Listener: "b", Type: report.Inner, Keys: []string{"x", "y2"}},
				}},
				File: report.File{Format: "csv", Options: &format.CSVOptions{Formulas: format.FormulasEscape}, Columns: []report.FileColumn{
					{Label: "x", Listener: "", Column: "x"}, {Label: "y", Listener: "", Column: "y"}, {Label: "a.note", Listener: "a", Column: "note"}, {Label: "only", Listener: "a", Column: "only"}, {Label: "b.note", Listener: "b", Column: "note"}, {Label: "b.y", Listener: "b", Column: "y"},
				}},
			},
		},
	}
	for name, s := range got.Sources {
		if d := got.Databases[name]; s.Noun != "database" || s.TimeZone != d.TimeZone || s.MaxTasks != d.MaxConnections || s.Bound != d.Bound {
			t.Errorf("source %s: %+v", name, s)
		}
	}
	got.Sources = nil
	if diff := cmp.Diff(want, got, sameQueries); diff != "" {
		t.Error(diff)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 64)
	for _, c := range []struct {
		keys string
		want report.Keys
	}{
		{"{}", report.Keys{Prefix: "fanfold:", Hash: "FileDownloadRecordEntity-", Replies: "replies:"}},
		{"", report.Keys{Prefix: "fanfold:", Hash: "FileDownloadRecordEntity-", Replies: "replies:"}},
		{"{prefix: 'f2:'}", report.Keys{Prefix: "f2:", Hash: "FileDownloadRecordEntity-", Replies: "replies:"}},
		{"{replies: 'fanfold:replies:'}", report.Keys{}},
		{"{replies: F, hash: File}", report.Keys{}},
		{"{replies: 'billing:'}", report.Keys{Prefix: "fanfold:", Hash: "FileDownloadRecordEntity-", Replies: "billing:"}},
		{"{prefix: , hash: Record-}", report.Keys{Prefix: "fanfold:", Hash: "Record-", Replies: "replies:"}},
		{"{prefix: '${TASKS}', hash: 81}", report.Keys{}}, // 8 is the beginning of 81
		{"{prefix: '${TASKS}:', hash: 81}", report.Keys{Prefix: "8:", Hash: "81", Replies: "replies:"}},
		{"{prefix: 'a]b%:', hash: fanfold}", report.Keys{Prefix: "a]b%:", Hash: "fanfold", Replies: "replies:"}},
		{"{prefix: " + long + ", hash: " + long[2:] + "-}", report.Keys{Prefix: long, Hash: long[2:] + "-", Replies: "replies:"}},
	} {
		got, err := Load("f.yaml", []byte(base+"redis_keys: "+c.keys+"\n"), testEnvironment(), TestKinds)
		if (err == nil) != (c.want != report.Keys{}) {
			t.Errorf("keys: %s: %v", c.keys, err)
		} else if err == nil && got.Keys != c.want {
			t.Errorf("keys: %s = %+v, want %+v", c.keys, got.Keys, c.want)
		}
	}
	for _, bad := range "{}*?[\\ \t\n\x00\x7f\u00a0\u200b\u2028" {
		for _, field := range []string{"prefix", "hash"} {
			keys := fmt.Sprintf("redis_keys: {%s: %q}\n", field, "x"+string(bad))
			if _, err := Load("f.yaml", []byte(base+keys), testEnvironment(), TestKinds); err == nil {
				t.Errorf("%s is no error", keys)
			}
		}
	}
}

func parsed(t *testing.T, text string) *dialect.Fields {
	t.Helper()
	q, err := dialect.MySQL.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return &dialect.Fields{Text: text, Query: q}
}

// sameQueries compares the own fields of listeners by the texts of their queries.
var sameQueries = cmp.Comparer(func(a, b dialect.Fields) bool { return a.Text == b.Text && a.Query.Text == b.Query.Text })
