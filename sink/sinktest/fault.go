package sinktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/sink"
)

// sizes are contents that fit into one request, and such that need several.
func sizes() map[string]string { return map[string]string{"small": contents, "large": big()[:9<<20]} }

// write creates an object in several calls. It gives up at the first error.
func write(ctx context.Context, p Place, name, contents string) (sink.Committed, error) {
	w, err := p.Sink.Create(ctx, object(name))
	if err != nil {
		return sink.Committed{}, err
	}
	defer w.Abort()
	for chunk := range slices.Chunk([]byte(contents), 1<<20) {
		if _, err := w.Write(chunk); err != nil {
			return sink.Committed{}, err
		}
	}
	return w.Commit()
}

// clear removes what List gives of interrupted writes.
func clear(t *testing.T, p Place) {
	t.Helper()
	for f, err := range p.Sink.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if f.Name != f.Object {
			remove(t, p, f.Name)
		}
	}
}

// wantNothingOrAll: nothing is visible of an interrupted write, or all is. What is left goes with List
// and Remove, and the write can be done again.
func wantNothingOrAll(t *testing.T, p Place, contents string) {
	t.Helper()
	there := len(visible(t, p)) > 0
	if there {
		wantContents(t, p, name, contents)
	}
	clear(t, p)
	if there {
		wantList(t, p, name)
	} else {
		wantList(t, p)
	}
	wantCommitted(t, put(t, p, name, contents), committed(contents, there))
	remove(t, p, name)
	wantList(t, p)
}

// eachRequest runs a test for every request of a write, until the write needs no more: run says whether
// the request was made.
func eachRequest(t *testing.T, p Place, run func(t *testing.T, k int, contents string) (made bool)) {
	for size, contents := range sizes() {
		for k := 0; ; k++ {
			made := run(t, k, contents)
			p.Network.Set(nil)
			if t.Failed() {
				t.Fatalf("%s: at request %d", size, k)
			}
			if !made && k == 0 {
				t.Fatalf("%s: the sink makes no requests through its Network", size)
			} else if !made {
				break
			}
		}
	}
}

// killedAtEachWrite: the process dies between two calls of the writer.
func killedAtEachWrite(t *testing.T, p Place) {
	for _, data := range sizes() {
		for n := 0; ; n += 2 << 20 {
			begin(t.Context(), t, p, name, data[:min(n, len(data))])
			wantNothingOrAll(t, p, data)
			if n >= len(data) {
				break
			}
		}
	}
}

// killedAtEachRequest: the process dies when a request is made, before the store does anything or before it
// answers.
func killedAtEachRequest(t *testing.T, p Place) {
	for _, late := range []bool{false, true} {
		eachRequest(t, p, func(t *testing.T, k int, contents string) (made bool) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p.Network.Set(func(n int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
				switch {
				case n < k:
					return next.RoundTrip(r)
				case n > k:
					return answer(r, http.StatusForbidden) // a dead process makes none
				}
				made = true
				cancel()
				if late {
					done(r.Clone(context.WithoutCancel(ctx)), next)
				}
				return nil, errors.New("killed")
			})
			if _, err := write(ctx, p, name, contents); (err == nil) == made {
				t.Errorf("Commit = %v, killed: %v", err, made)
			}
			p.Network.Set(nil)
			wantNothingOrAll(t, p, contents)
			return made
		})
	}
}

// losesAtEachRequest: another writer commits first.
func losesAtEachRequest(t *testing.T, p Place) {
	for _, same := range []bool{true, false} {
		eachRequest(t, p, func(t *testing.T, k int, contents string) (made bool) {
			rival := contents
			if !same {
				rival = "other " + contents[6:]
			}
			p.Network.Set(func(n int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
				if n == k && !made {
					made = true
					if _, err := write(t.Context(), p, name, rival); err != nil {
						t.Error(err)
					}
				}
				return next.RoundTrip(r)
			})
			got, err := write(t.Context(), p, name, contents)
			switch {
			case made && !same && !errors.Is(err, sink.ErrConflict):
				t.Errorf("Commit = %v, want ErrConflict", err)
			case (!made || same) && (err != nil || got != committed(contents, made)):
				t.Errorf("Commit = %+v, %v; want adopted: %v", got, err, made)
			}
			p.Network.Set(nil)
			if !made {
				rival = contents
			}
			wantContents(t, p, name, rival)
			wantList(t, p, name)
			remove(t, p, name)
			return made
		})
	}
}

// failsAtEachRequest: the store fails twice. If it did its work nevertheless, a write may fail, too.
func failsAtEachRequest(t *testing.T, p Place) {
	for _, late := range []bool{false, true} {
		eachRequest(t, p, func(t *testing.T, k int, contents string) (made bool) {
			p.Network.Set(func(n int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
				if n != k && n != k+1 {
					return next.RoundTrip(r)
				}
				made = true
				if late {
					done(r, next)
				}
				return answer(r, []int{http.StatusInternalServerError, http.StatusServiceUnavailable}[n-k])
			})
			got, err := write(t.Context(), p, name, contents)
			final := errors.Is(err, sink.ErrConflict) || errors.Is(err, sink.ErrRefused)
			if (err != nil || got.Adopted) && !late || final {
				t.Errorf("late: %v: Commit = %+v, %v", late, got, err)
			}
			p.Network.Set(nil)
			wantNothingOrAll(t, p, contents)
			return made
		})
	}
}

// failsAtReads: the store fails twice at other requests than those of a write.
func failsAtReads(t *testing.T, p Place) {
	put(t, p, name, contents)
	twice := func(n int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if n < 2 {
			return answer(r, http.StatusServiceUnavailable)
		}
		return next.RoundTrip(r)
	}
	p.Network.Set(twice)
	in, err := p.Sink.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(in)
	if closed := in.Close(); err != nil || closed != nil || string(got) != contents {
		t.Errorf("read %q, %v, %v", got, err, closed)
	}
	p.Network.Set(twice)
	wantListed(t, listed(t, p, ""), name)
	p.Network.Set(twice)
	remove(t, p, name)
	p.Network.Set(nil)
	wantList(t, p)
}

// away: an outage ends with ctx, is neither a refusal nor a conflict, and leaves nothing.
func away(t *testing.T, p Place) {
	for _, status := range []int{0, http.StatusServiceUnavailable} {
		eachRequest(t, p, func(t *testing.T, k int, contents string) (made bool) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			p.Network.Set(func(n int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
				switch {
				case n < k:
					return next.RoundTrip(r)
				case !made:
					made = true
					time.AfterFunc(100*time.Millisecond, cancel)
				case ctx.Err() != nil:
					return next.RoundTrip(r) // what cleans up
				}
				if status == 0 { // it never answers
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				return answer(r, status)
			})
			began := time.Now()
			_, err := write(ctx, p, name, contents)
			switch took := time.Since(began); {
			case made && !errors.Is(err, context.Canceled), !made && err != nil:
				t.Errorf("Commit = %v", err)
			case errors.Is(err, sink.ErrRefused), errors.Is(err, sink.ErrConflict), took > 30*time.Second:
				t.Errorf("Commit = %v after %v", err, took)
			}
			p.Network.Set(nil)
			if made {
				wantList(t, p)
			}
			wantNothingOrAll(t, p, contents)
			return made
		})
	}
}

// slow: every answer takes its time, and the bytes come in small pieces.
func slow(t *testing.T, p Place) {
	p.Network.Set(func(_ int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
		<-time.After(50 * time.Millisecond)
		response, err := next.RoundTrip(r)
		if err == nil {
			response.Body = &trickle{response.Body}
		}
		return response, err
	})
	for _, data := range sizes() {
		wantCommitted(t, put(t, p, name, data), committed(data, false))
		wantCommitted(t, put(t, p, name, data), committed(data, true))
		in, err := p.Sink.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		if closed := in.Close(); err != nil || closed != nil || string(got) != data {
			t.Errorf("%d bytes of %d: %v, %v", len(got), len(data), err, closed)
		}
		wantListed(t, listed(t, p, ""), name)
		remove(t, p, name)
	}
	wantList(t, p)
}

// trickle gives at most 64 KB at once.
type trickle struct{ io.ReadCloser }

func (s *trickle) Read(p []byte) (int, error) {
	<-time.After(time.Millisecond)
	return s.ReadCloser.Read(p[:min(len(p), 64<<10)])
}

// listsPages lists more than an answer of the store holds.
func listsPages(t *testing.T, p Place) {
	var want []string
	for i := range 2*p.Page + 2 {
		want = append(want, fmt.Sprintf("withdrawals/%04d-1.csv", i))
		put(t, p, want[i], contents)
	}
	put(t, p, "deposits/1-1.csv", contents)
	wantListed(t, listed(t, p, "withdrawals/"), want...)
	wantListed(t, listed(t, p, ""), append([]string{"deposits/1-1.csv"}, want...)...)
	seen := 0
	for f, err := range p.Sink.List(t.Context(), "withdrawals/") {
		if err != nil || !strings.HasPrefix(f.Name, "withdrawals/") {
			t.Fatal(f, err)
		}
		seen++
	}
	if seen != len(want) {
		t.Fatalf("List gives %d objects, want %d", seen, len(want))
	}
}
