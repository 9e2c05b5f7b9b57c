package gcs_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/api/option"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/gcs"
	"github.com/fanfold/fanfold/sink/sinktest"
)

func TestMain(m *testing.M) {
	// A connection whose dial ends after the request that asked for it was served by
	// another one rests in the client's pool for a while.
	testmain.Main(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

const (
	bucket = "reports"
	prefix = "daily files/2024"
	name   = "withdrawals/1111-1.csv"
)

// service is a private storage service and a way of its own to it.
type service struct {
	testmain.Storage
	http *http.Client
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{testmain.NewStorage(t, bucket, ""), &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(s.http.CloseIdleConnections)
	return s
}

// sink returns a sink whose requests go through that transport.
func (s *service) sink(t *testing.T, transport http.RoundTripper) *gcs.Sink {
	t.Helper()
	out, err := gcs.New(t.Context(), "gs://"+bucket+"/"+prefix,
		option.WithHTTPClient(&http.Client{Transport: transport}),
		option.WithEndpoint("http://"+s.Addr+"/storage/v1/"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := out.Close(); err != nil {
			t.Error(err)
		}
	})
	return out
}

func (s *service) place(out sink.Sink) sinktest.Place {
	return sinktest.Place{Sink: out, List: s.list, Read: s.read}
}

func (s *service) list(t *testing.T) []string {
	t.Helper()
	objects, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range objects {
		names = append(names, strings.TrimPrefix(o.Name, prefix+"/"))
	}
	return names
}

func (s *service) stored(t *testing.T, name string) sinktest.Stored {
	t.Helper()
	o, err := s.Object(t.Context(), prefix+"/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return sinktest.Stored{ContentType: o.ContentType, Disposition: o.ContentDisposition, Metadata: o.Metadata}
}

func (s *service) read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := s.Read(t.Context(), prefix+"/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestSink(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, gcs.Kind, func(t *testing.T) sinktest.Place {
		s := newService(t)
		network := &sinktest.Network{Next: pages{s.http.Transport}}
		place := s.place(s.sink(t, network))
		place.Network, place.Page, place.Stored = network, page, s.stored
		return place
	})
}

// page is the number of objects that the service lists at once.
const page = 3

// pages has the service answer listings in pages.
type pages struct{ http.RoundTripper }

func (p pages) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/o") {
		r = r.Clone(r.Context())
		query := r.URL.Query()
		query.Set("maxResults", strconv.Itoa(page))
		r.URL.RawQuery = query.Encode()
	}
	return p.RoundTripper.RoundTrip(r)
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

// The client finds an emulator by itself.
func TestEmulatorHost(t *testing.T) {
	s := newService(t)
	t.Setenv("STORAGE_EMULATOR_HOST", s.Addr)
	out, err := gcs.New(t.Context(), "gs://"+bucket)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := out.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(t.Context(), t, out, sink.Object{Name: name}, "x").Commit(); err != nil {
		t.Fatal(err)
	}
	if got := s.list(t); len(got) != 1 || got[0] != name {
		t.Fatalf("the bucket has %q", got)
	}
	if got, want := out.URL(name), "gs://reports/withdrawals/1111-1.csv"; got != want {
		t.Errorf("URL = %q, want %q", got, want)
	}
	if got, ok := out.Name("gs://reports/" + name); !ok || got != name {
		t.Errorf("Name = %q, %v", got, ok)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	if _, err := gcs.New(t.Context(), "gs://Bucket"); err == nil || !strings.Contains(err.Error(), "valid bucket name") {
		t.Errorf("a name that is not valid: %v", err)
	}
}
