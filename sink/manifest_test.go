package sink_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
)

func TestManifestBytes(t *testing.T) {
	t.Parallel()
	p, root := openDir(t)
	m := sink.Manifest{
		Job:        sink.ManifestJob{Record: "1111", Attempt: 2, Report: "withdrawals"},
		Definition: "5f2c",
		Parameters: json.RawMessage(`{"from":"2024-01-01","name":"<a&b>","id":12345678901234567890}`),
		Rows:       2, Bytes: 30, CRC32C: sink.Checksum(0xbeef), File: "gs://bucket/withdrawals/1111-2.csv",
		SaveAs:    "orders 1.csv",
		CreatedAt: time.Date(2024, 3, 4, 5, 6, 7, 891_999_999, time.FixedZone("", 2*60*60)),
		TimeZone:  "Europe/Berlin",
		Columns: []sink.ManifestColumn{
			{Label: "id", Column: "id", Type: report.KindInteger},
			{Label: "Note", Listener: "plt_fund.vs_withdraw", Column: "note", Type: report.KindText, Escaped: 3},
		},
		Listeners: []sink.ManifestListener{{
			Name: "plt_fund.vs_withdraw", Stage: 1, Rows: 2, Tries: 1, DurationMS: 15, ReusedFrom: 1,
			AsOf: time.Date(2024, 3, 4, 5, 6, 6, 885_000_000, time.FixedZone("", 2*60*60)), DoneAt: time.Date(2024, 3, 4, 3, 6, 6, 900_000_000, time.UTC),
			Columns: []dataset.Column{{Name: "id", Kind: report.KindInteger}, {Name: "note", Kind: report.KindText}},
		}, {
			Name: "plt_fund.vs_payment", Stage: 2, Tries: 7, Unmatched: new(int64(0)), FirstUnmatched: new(int64(2)), DoneAt: time.Date(2024, 3, 4, 3, 6, 7, 0, time.UTC),
			Columns: []dataset.Column{}, Omitted: "empty", Error: "query timed out after 5m0s",
		}},
		Fold: []sink.ManifestStep{{Step: "read v", Depth: 1, Rows: new(int64(2)), How: "parallel"}, {Step: "limit 2, offset 0"}},
	}
	for name, m := range map[string]sink.Manifest{"manifest.json": m, "manifest_empty.json": {}} {
		if err := sink.WriteManifest(t.Context(), p, name, m); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(read(t, root, sink.ManifestName(name)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		got, err := sink.ReadManifest(t.Context(), p, name)
		if err != nil || got.Rows != m.Rows || got.CRC32C != m.CRC32C || len(got.Listeners) != len(m.Listeners) {
			t.Errorf("%+v %v", got, err)
		}
	}
	if _, err := sink.ReadManifest(t.Context(), p, "none.csv"); !errors.Is(err, sink.ErrNoObject) {
		t.Error(err)
	}
}

// TestManifestHasEveryField: the encoder writes every field of the struct, under the name in its tag.
func TestManifestHasEveryField(t *testing.T) {
	t.Parallel()
	p, _ := openDir(t)
	var m sink.Manifest
	fill(t, reflect.ValueOf(&m).Elem())
	c := &m.Listeners[0].Columns[0] // a manifest leaves out what only a fold needs of a type
	c.Kind, c.Unsigned, c.Digits, c.Scale, c.Collation = report.KindFloat, false, 0, 0, ""
	if err := sink.WriteManifest(t.Context(), p, name, m); err != nil {
		t.Fatal(err)
	}
	got, err := sink.ReadManifest(t.Context(), p, name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("manifest_encode.go loses fields (-written +read):\n%s", diff)
	}
}

// fill sets all fields of a value to something.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2024, 3, 4, 5, 6, 7, 0, time.UTC)))
		return
	case json.RawMessage:
		v.SetBytes([]byte("7"))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	default:
		if !v.CanInt() {
			t.Fatalf("fill: a %s", v.Type())
		}
		v.SetInt(7)
	}
}

func TestWriteManifestErrors(t *testing.T) {
	t.Parallel()
	p, root := openDir(t)
	if err := sink.WriteManifest(t.Context(), p, name, sink.Manifest{Parameters: json.RawMessage("{")}); err == nil {
		t.Error("parameters that are no JSON are no error")
	}
	if err := sink.WriteManifest(t.Context(), p, "../x", sink.Manifest{}); err == nil {
		t.Error("a bad name is no error")
	}
	if got, err := os.ReadDir(root); err != nil || len(got) != 0 {
		t.Errorf("the place has %q", got)
	}
}

const name = "withdrawals/1111-1.csv"

// openDir returns a sink in a folder.
func openDir(t *testing.T) (s sink.Sink, root string) {
	t.Helper()
	root = t.TempDir()
	s, err := dir.New(root)
	if err != nil {
		t.Fatal(err)
	}
	return s, root
}

func read(t *testing.T, root, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
