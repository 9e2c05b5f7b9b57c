package access

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/internal/audit"
)

// notes are attributes that a handler adds to the log line of its change.
type notes struct {
	mu   sync.Mutex
	list []any
}

type noteKey struct{}

type readKey struct{}

// Download writes the log line of a download. Call it before the answer begins: a process that is killed during
// a long transfer has logged it then.
func Download(ctx context.Context, job, file string) {
	if log, ok := ctx.Value(readKey{}).(*slog.Logger); ok {
		log.Info("download", "job", job, "file", file)
	}
}

// Change writes the log line of a change behind a link.
func Change(ctx context.Context, args ...any) {
	if log, ok := ctx.Value(readKey{}).(*slog.Logger); ok {
		log.Info("change", args...)
	}
}

// Note adds keys and values, as for slog, to the log line of a change.
func Note(ctx context.Context, args ...any) {
	if n, ok := ctx.Value(noteKey{}).(*notes); ok {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.list = append(n.list, args...)
	}
}

// ChangeTime is the timeout of a change.
const ChangeTime = 30 * time.Second

// change runs the handler of a change and writes its log line. A change may have several steps, so it
// continues if its client disconnects or the process is told to stop.
func (s *Site) change(w http.ResponseWriter, r *http.Request, who *audit.Actor, next http.Handler) {
	n := &notes{}
	seen := &answer{ResponseWriter: w}
	defer func() { // also if the handler panics
		n.mu.Lock()
		defer n.mu.Unlock()
		s.audit(r, who, seen.code, http.StatusText(seen.code), n.list)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), ChangeTime)
	defer cancel()
	ctx = audit.With(context.WithValue(ctx, noteKey{}, n), who)
	next.ServeHTTP(seen, r.WithContext(ctx))
	seen.code = cmp.Or(seen.code, http.StatusOK)
}

// read runs the handler of a read, which can log a download.
func (s *Site) read(w http.ResponseWriter, r *http.Request, who string, next http.Handler) {
	log := s.log.With("user", who, "from", s.from(r))
	next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), readKey{}, log)))
}

// Links wraps the pages behind links, which need no login. Their downloads and changes are logged with the user
// "link"; the log has no link.
func (s *Site) Links(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		actor := &audit.Actor{Who: "link", By: audit.Link, From: s.from(r), Log: s.log}
		s.read(w, r.WithContext(audit.With(r.Context(), actor)), actor.Who, next)
	})
}

// audit writes the log line of a change, accepted or refused, and its entry in the audit stream if package operate
// has not: the request was refused before it became a change.
func (s *Site) audit(r *http.Request, who *audit.Actor, code int, reason string, more []any) {
	args := append([]any{"user", who.Who, "from", who.From, "method", r.Method, "path", shown(r.URL.Path),
		"answer", code}, more...)
	s.log.Info("change", args...)
	if who.Noted() || s.Audit == nil {
		return
	}
	// Paths end with an object and an act: /jobs/1111/cancel.
	at := shown(r.URL.Path)
	one := audit.Act{Act: path.Base(at), N: 1, Reason: reason, Detail: r.Method + " " + at}
	if strings.Count(at, "/") > 2 {
		one.On = path.Base(path.Dir(at))
	}
	switch {
	case code == 0 || code >= 500:
		one.Answer = audit.Failed
	case code >= 400:
		one.Answer = audit.Refused
	default:
		one.Answer, one.Reason = audit.Done, ""
	}
	s.Audit(r.Context(), who, one)
}

// answer notes the status of a response.
type answer struct {
	http.ResponseWriter
	code int // 0: none yet
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	a.code = code
	a.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
