package http

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv/testvendor"
	"github.com/fanfold/fanfold/listeners"
)

// TestConflict: a vendor that answers the repetition of a submit with 409 still works on
// the first one, however that ended here: the task waits, as a Runner sees it, too, and
// there is one job. It comes when Retry-After says, where it does.
func TestConflict(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(e *exports){
		"a 500": func(e *exports) {
			e.SetBefore(func(w http.ResponseWriter, r *http.Request) bool {
				e.SetBefore(nil)
				e.ServeHTTP(httptest.NewRecorder(), r)
				w.WriteHeader(http.StatusInternalServerError)
				return true
			})
		},
		"a cut connection": func(e *exports) {
			e.SetMade(func(*http.Request, *testvendor.Job) { panic(http.ErrAbortHandler) })
		},
		"no answer in time": func(e *exports) {
			e.api.Timeout = 500 * time.Millisecond
			e.SetMade(func(r *http.Request, _ *testvendor.Job) { <-r.Context().Done() })
		},
		"a dead worker": func(e *exports) {
			e.SetMade(func(*http.Request, *testvendor.Job) { panic(http.ErrAbortHandler) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, unknown := range []Unknown{"", LookUpJob} {
				e := newExports(t, unknown)
				timeout := e.api.Timeout
				first(e)
				for len(e.Jobs()) == 0 { // on a busy machine a short time can end before the request is sent
					if _, err := e.try(); err == nil || errors.Is(err, listeners.ErrPermanent) {
						t.Fatalf("%q: %v", unknown, err)
					}
				}
				if name == "a dead worker" {
					e.memo = []byte(fmt.Sprintf(`{"started":%d,"jobs":[{"asked":true}]}`, time.Now().UnixMilli()))
				}
				e.SetMade(nil)
				e.api.Timeout = timeout
				after := ""
				e.SetBefore(func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method == http.MethodGet {
						fmt.Fprint(w, `{"jobs": []}`) // it is not to be seen yet
						return true
					}
					if after != "" {
						w.Header().Set("Retry-After", after)
					}
					w.WriteHeader(http.StatusConflict)
					return true
				})
				if _, err := e.try(); errors.Is(err, listeners.ErrPermanent) || !errors.Is(err, listeners.ErrOutage) {
					t.Errorf("%q: %v", unknown, err)
				}
				after = "2"
				e.waits("409 Conflict")
				e.SetBefore(nil)
				e.done()
				e.one()
			}
		})
	}
	// Where no key was sent, it means something else.
	e := newExports(t, ResubmitJob)
	e.memo = []byte(fmt.Sprintf(`{"started":%d,"jobs":[{"asked":true}]}`, time.Now().UnixMilli()))
	e.SetBefore(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusConflict); return true })
	if _, err := e.try(); !errors.Is(err, listeners.ErrPermanent) {
		t.Error(err)
	}
}
