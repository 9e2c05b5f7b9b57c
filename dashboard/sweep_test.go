package dashboard

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
)

// asOperator asks a dashboard for a page, as the server does.
func asOperator(t *testing.T, d *Dashboard, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	loggedIn(t, d).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1"+path, nil))
	return w.Code, w.Body.String()
}

// loggedIn returns a dashboard without a login, in which everyone may do everything.
func loggedIn(t testing.TB, d *Dashboard) http.Handler {
	t.Helper()
	site, err := access.New(report.Site{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return site.Login("dashboard", d)
}

// TestSweepOfMoreThanTheSample: if a sample has only the newest dead jobs, pages do not show their number as that
// of all jobs that a change concerns.
func TestSweepOfMoreThanTheSample(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][]string{
		maxDead - 1: {"Discard 4,999 jobs</button>", "Discard all 4,999 …", ">4,999 ×", `value="12"`},
		maxDead:     {"Discard at least 5,000 jobs</button>", "Discard all …", ">at least 5,000 ×", `<progress max="100" aria-label`},
	} {
		d := New(Options{Inspect: &inspect.Inspector{}})
		listed := &sample{At: time.Now(), Full: true}
		for i := range n {
			listed.Dead = append(listed.Dead, inspect.DeadJob{ID: strconv.Itoa(i), Report: "weekly", Error: "no such table", When: time.Now()})
		}
		d.sampler.now.Store(listed)
		key := keyOf(listed.Dead[0])
		code, question := asOperator(t, d, "/confirm?to=/dead/discard&group="+key)
		if code != http.StatusOK {
			t.Fatal(question)
		}

		ctx, stop := context.WithCancel(t.Context())
		d.dead.sweeps.begin(ctx)
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/dead/discard", strings.NewReader(url.Values{"group": {key}, "confirm": {"yes"}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		begun := make(chan struct{})
		_, err := d.dead.sweep(audit.With(t.Context(), &audit.Actor{}), r, sweep{What: "Discard"}, func(ctx context.Context, s operate.Sweep) (operate.Swept, error) {
			s.Each(operate.Swept{Done: 600})
			close(begun)
			<-ctx.Done()
			return operate.Swept{}, ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		<-begun
		_, list := asOperator(t, d, "/dead")
		stop()
		d.dead.sweeps.wait()
		for _, text := range want {
			if !strings.Contains(question+list, text) {
				t.Errorf("%d dead jobs: no %s", n, text)
			}
		}
	}
}
