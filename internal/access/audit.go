package access

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"
)

// notes are attributes that a handler adds to the log line of its change.
type notes struct {
	mu   sync.Mutex
	list []any

	download bool
}

type noteKey struct{}

// Download makes a read write a log line, which names the job and the file.
func Download(ctx context.Context, job, file string) {
	Note(ctx, "job", job, "file", file)
	if n, ok := ctx.Value(noteKey{}).(*notes); ok {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.download = true
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

// changeTime is the timeout of a change.
const changeTime = 30 * time.Second

// change runs the handler of a change and writes its log line. A change may have several steps, so it
// continues if its client disconnects or the process is told to stop.
func (s *Site) change(w http.ResponseWriter, r *http.Request, who Who, next http.Handler) {
	n := &notes{}
	seen := &answer{ResponseWriter: w}
	defer func() { // also if the handler panics
		n.mu.Lock()
		defer n.mu.Unlock()
		s.audit(r, who, seen.code, n.list)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), changeTime)
	defer cancel()
	next.ServeHTTP(seen, r.WithContext(context.WithValue(ctx, noteKey{}, n)))
	seen.code = cmp.Or(seen.code, http.StatusOK)
}

// read runs the handler of a read, and writes a log line if it is a download.
func (s *Site) read(w http.ResponseWriter, r *http.Request, who string, next http.Handler) {
	n := &notes{}
	defer func() { // also if the transfer breaks off
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.download {
			s.log.Info("download", append([]any{"user", who, "from", r.RemoteAddr}, n.list...)...)
		}
	}()
	next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), noteKey{}, n)))
}

// Links wraps the pages behind links, which need no login. Their downloads are logged with the user
// "link"; the log has no link.
func (s *Site) Links(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.read(w, r, "link", next) })
}

// audit writes the log line of a change, accepted or refused.
func (s *Site) audit(r *http.Request, who Who, code int, more []any) {
	args := append([]any{"user", who.Name, "from", r.RemoteAddr, "method", r.Method, "path", shown(r.URL.Path), "answer", code}, more...)
	s.log.Info("change", args...)
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
