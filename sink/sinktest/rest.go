package sinktest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

func remove(t *testing.T, p Place, name string) {
	t.Helper()
	if err := p.Sink.Remove(t.Context(), name); err != nil {
		t.Fatalf("Remove(%q): %v", name, err)
	}
}

// listed returns the names of the objects that List gives, each once.
func listed(t *testing.T, p Place, prefix string) (objects []string) {
	t.Helper()
	for f, err := range p.Sink.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		if age := time.Since(f.Modified); age < -time.Minute || age > time.Minute {
			t.Errorf("%s was modified %v ago", f.Name, age)
		}
		objects = append(objects, f.Object)
	}
	slices.Sort(objects)
	return slices.Compact(objects)
}

func wantListed(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("List gives %q, want %q", got, want)
	}
}

func removes(t *testing.T, p Place) {
	remove(t, p, name)
	put(t, p, name, contents)
	wantContents(t, p, name, contents)
	remove(t, p, name)
	remove(t, p, name)
	wantList(t, p)
	wantCommitted(t, put(t, p, name, "other"), committed("other", false))
}

func neighbours(t *testing.T, p Place) {
	others := []string{longer, "withdrawals/1111-1.cs", "1111-1.csv", sink.ManifestName(name)}
	writers := map[string]sink.Writer{}
	for _, other := range others {
		writers[other] = begin(t.Context(), t, p, other, contents)
	}
	put(t, p, name, contents)
	remove(t, p, name)
	for _, w := range writers {
		wantCommitted(t, commit(t, w), committed(contents, false))
	}
	put(t, p, name, contents)
	remove(t, p, name)
	wantList(t, p, others...)
}

func removesLeftover(t *testing.T, p Place) {
	begin(t.Context(), t, p, name, contents)
	remove(t, p, name)
	wantList(t, p)
}

func opens(t *testing.T, p Place) {
	if _, err := p.Sink.Open(t.Context(), name); !errors.Is(err, sink.ErrNoObject) {
		t.Fatalf("Open of nothing = %v, want ErrNoObject", err)
	}
	begin(t.Context(), t, p, name, "not committed")
	if _, err := p.Sink.Open(t.Context(), name); !errors.Is(err, sink.ErrNoObject) {
		t.Fatalf("Open before commit = %v, want ErrNoObject", err)
	}
	for object, want := range map[string]string{name: strings.Repeat(contents, 100_000), longer: "",
		"1-1.csv": contents} {
		put(t, p, object, want)
		r, err := p.Sink.Open(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if closed := r.Close(); err != nil || closed != nil || string(got) != want {
			t.Errorf("%s: %d bytes, not the %d that were written: %v, %v", object, len(got), len(want), err, closed)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	half, err := p.Sink.Open(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(half); !errors.Is(err, context.Canceled) {
		t.Errorf("Read after a cancel = %v, want Canceled", err)
	}
	if err := half.Close(); err != nil {
		t.Error(err)
	}
	if _, err := p.Sink.Open(ctx, name); !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v, want Canceled", err)
	}
}

func lists(t *testing.T, p Place) {
	wantListed(t, listed(t, p, ""))
	wantListed(t, listed(t, p, "withdrawals/1111-"))
	others := []string{"withdrawals/11110-1.csv", "withdrawals/111", "deposits/1111-1.csv", "1111-1.csv"}
	for _, object := range append(others, name, longer) {
		put(t, p, object, contents)
	}
	wantListed(t, listed(t, p, ""), append(others, name, longer)...)
	wantListed(t, listed(t, p, "withdrawals/1111-"), name, longer)
	wantListed(t, listed(t, p, "deposits/"), others[2])
	wantListed(t, listed(t, p, "none/1"))
	for f, err := range p.Sink.List(t.Context(), "") {
		if err != nil || f.Name == "" {
			t.Fatal(f, err)
		}
		break // is no panic
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failed := error(nil)
	for _, err := range p.Sink.List(ctx, "") {
		failed = err
	}
	if !errors.Is(failed, context.Canceled) {
		t.Fatalf("List = %v, want Canceled", failed)
	}
}

// listsLeftover: what List gives of an interrupted write, Remove removes, and nothing
// else.
func listsLeftover(t *testing.T, p Place) {
	put(t, p, name, contents)
	begin(t.Context(), t, p, name, contents)
	begin(t.Context(), t, p, longer, contents)
	begin(t.Context(), t, p, "withdrawals/2-1.csv", contents)
	for f, err := range p.Sink.List(t.Context(), "withdrawals/1111-") {
		if err != nil {
			t.Fatal(err)
		}
		if f.Name != f.Object {
			remove(t, p, f.Name)
		}
	}
	wantListed(t, listed(t, p, "withdrawals/1111-"), name)
	wantContents(t, p, name, contents)
	remove(t, p, "withdrawals/2-1.csv")
	wantList(t, p, name)
}

func afterLeftover(t *testing.T, p Place) {
	left := begin(t.Context(), t, p, name, contents)
	half := begin(t.Context(), t, p, name, contents[:5])
	wantCommitted(t, put(t, p, name, contents), committed(contents, false))
	wantList(t, p, name)
	// What was thought dead and goes on finds what the other made.
	wantCommitted(t, commit(t, left), committed(contents, true))
	if _, err := half.Commit(); !errors.Is(err, sink.ErrConflict) {
		t.Fatalf("Commit of other bytes = %v, want ErrConflict", err)
	}
	wantList(t, p, name)
	wantContents(t, p, name, contents)
}

func urls(t *testing.T, p Place) {
	url := p.Sink.URL(name)
	if got, ok := p.Sink.Name(url); !ok || got != name {
		t.Fatalf("Name(%q) = %q, %v; want %q", url, got, ok, name)
	}
	root := strings.TrimSuffix(url, name)
	if root == url || !strings.HasSuffix(root, "/") {
		t.Fatalf("URL = %q, does not end with the name", url)
	}
	for _, foreign := range []string{
		"", name, "/" + name, root, strings.TrimSuffix(root, "/"), "x" + url,
		strings.TrimSuffix(root, "/") + "x/" + name,
		root + "../" + name, root + ".hidden/1.csv", root + "a/../../" + name, url + "?x=1", url + "#x",
		"https" + url[strings.Index(url, ":"):],
		"nowhere" + url[strings.Index(url, ":"):],
	} {
		if got, ok := p.Sink.Name(foreign); ok {
			t.Errorf("Name(%q) = %q, is foreign", foreign, got)
		}
	}
}

func badNames(t *testing.T, p Place) {
	for _, bad := range []string{
		"", ".", "..", "/", "/etc/passwd", "../x.csv", "a/../../x.csv", "a//b.csv", "a/", "a/./b.csv",
		".hidden", "a/.hidden", "a\x00b", "a\\b", "a b", "a%2e", "ä.csv", "a?b", "a#b", "a*", "a/.tmp/b.0123.tmp",
		"a/.tmp/../b.0123456789abcdef.tmp",
		strings.Repeat("x", 201),
	} {
		if _, err := p.Sink.Create(t.Context(), object(bad)); !errors.Is(err, sink.ErrName) {
			t.Errorf("Create(%q) = %v, want ErrName", bad, err)
		}
		if _, err := p.Sink.Open(t.Context(), bad); !errors.Is(err, sink.ErrName) {
			t.Errorf("Open(%q) = %v, want ErrName", bad, err)
		}
		if err := p.Sink.Remove(t.Context(), bad); !errors.Is(err, sink.ErrName) {
			t.Errorf("Remove(%q) = %v, want ErrName", bad, err)
		}
	}
	wantList(t, p)
}

func check(t *testing.T, p Place) {
	if err := p.Sink.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantList(t, p)
}

func checkCancelled(t *testing.T, p Place) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Sink.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Check = %v, want Canceled", err)
	}
	wantList(t, p)
}

func manifest(t *testing.T, p Place) {
	m := sink.Manifest{
		Job:        sink.ManifestJob{Record: "1111", Attempt: 1, Report: "withdrawals"},
		Definition: "5f2c", Parameters: json.RawMessage(`{"from":"2024-01-01"}`),
		Rows: 1, Bytes: 17, CRC32C: sink.Checksum(0xab12), File: p.Sink.URL(name),
		CreatedAt: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC),
		Columns:   []sink.ManifestColumn{{Label: "id", Column: "id", Type: report.KindInteger}},
		Listeners: []sink.ManifestListener{{
			Name: "plt_fund.vs_withdraw", Stage: 1, Rows: 1, Tries: 2, DurationMS: 12,
			Columns: []dataset.Column{{Name: "id", Kind: report.KindInteger}},
		}},
		Fold: []sink.ManifestStep{{Step: "read plt_fund.vs_withdraw", Rows: new(int64(1))}},
	}
	put(t, p, name, contents)
	later := m
	later.CreatedAt = m.CreatedAt.Add(time.Minute)
	for _, m := range []sink.Manifest{m, m, later} {
		if err := sink.WriteManifest(t.Context(), p.Sink, name, m); err != nil {
			t.Fatal(err)
		}
	}
	wantList(t, p, name, sink.ManifestName(name))
	var got sink.Manifest
	if err := json.Unmarshal(p.Read(t, sink.ManifestName(name)), &got); err != nil {
		t.Fatal(err)
	}
	got.Parameters = compact(t, got.Parameters)
	if diff := cmp.Diff(m, got); diff != "" {
		t.Fatalf("manifest (-want +got):\n%s", diff)
	}
}

func compact(t *testing.T, data json.RawMessage) json.RawMessage {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
