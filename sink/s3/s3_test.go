package s3_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/s3"
	"github.com/fanfold/fanfold/sink/s3/s3test"
	"github.com/fanfold/fanfold/sink/sinktest"
)

func TestMain(m *testing.M) { testmain.Main(m) }

const (
	bucket = "reports"
	prefix = "daily files/2024"
	name   = "withdrawals/1111-1.csv"
	part   = 5 << 20
)

// direct is the way to the store without a detour.
func direct(t *http.Transport) http.RoundTripper { return t }

// openAt returns a sink of a store.
func openAt(t *testing.T, store *s3test.Store, way s3.Transport) *s3.Sink {
	t.Helper()
	out, err := s3.OpenWith("s3://"+report.SinkURL(store.Bucket)+"/"+prefix, s3.Options{
		Endpoint: store.URL, Region: "us-east-1", AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey, PartSize: part,
	}, way)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	return out
}

// place is a sink of a new store.
func place(t *testing.T, store *s3test.Store) sinktest.Place {
	t.Helper()
	return sinktest.Place{
		Sink: openAt(t, store, direct),
		List: func(*testing.T) []string {
			names := store.Names()
			for i := range names {
				names[i] = strings.TrimPrefix(names[i], prefix+"/")
			}
			return names
		},
		Read: func(t *testing.T, name string) []byte {
			o, exists := store.Object(prefix + "/" + name)
			if !exists {
				t.Fatalf("there is no %s", name)
			}
			return slices.Clone(o.Data)
		},
	}
}

func TestSink(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, s3.Kind, func(t *testing.T) sinktest.Place { return place(t, s3test.Start(t, bucket)) })
}

func begin(ctx context.Context, t *testing.T, s sink.Sink, o sink.Object, contents string) sink.Writer {
	t.Helper()
	w, err := s.Create(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Abort)
	if _, err := io.WriteString(w, contents); err != nil {
		t.Fatal(err)
	}
	return w
}
