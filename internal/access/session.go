package access

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web/seal"
)

const (
	// Cookie is the name of the cookie of a session.
	Cookie = "fanfold-session"
	// SessionTime is how long a session lasts.
	SessionTime = 12 * time.Hour
	// userTime is how long User waits for Redis: a page can do without the name.
	userTime = time.Second / 2
	// purpose separates the tokens of sessions from others.
	purpose = "fanfold session 1 "
)

// Errors of Begin.
var (
	ErrPassword = errors.New("the name or the password is wrong")
	ErrBusy     = errBusy
)

// Sessions is what all processes share about sessions.
type Sessions interface {
	// Secret returns the secret that seals sessions. If there is none, it is the given one from now on. It exists for
	// at least as long as a session that begins now.
	Secret(ctx context.Context, otherwise string, valid time.Duration) (string, error)
	// Read returns that secret, or nothing if there is none, and whether a session was ended.
	Read(ctx context.Context, id string) (secret string, ended bool, err error)
	// End ends a session.
	End(ctx context.Context, id string, valid time.Duration) error
}

// Form logs users of a Site in and out.
type Form struct{ site *Site }

// Form returns nil if nobody can log in with a form.
func (s *Site) Form() *Form {
	if s.users == nil || s.Sessions == nil {
		return nil
	}
	return &Form{s}
}

// Begin checks a name and a password, and sets the cookie of a new session. The errors are ErrPassword, ErrBusy and
// those of Sessions.
func (f *Form) Begin(w http.ResponseWriter, r *http.Request, name, password string) error {
	ok, err := f.site.users.ask(f.site, r, name, password)
	if err != nil {
		return err
	}
	if !ok {
		return ErrPassword
	}
	secret, err := f.site.Sessions.Secret(r.Context(), random(32), SessionTime+time.Minute)
	if err != nil {
		return err
	}
	sealer, err := sealerOf(secret)
	if err != nil {
		return err
	}
	id := random(16)
	plain := append(proof(f.site.users.hashes[name], id), name...)
	f.set(w, r, id+"."+sealer.Seal(purpose+id, time.Now().Add(SessionTime), plain), int(SessionTime.Seconds()))
	f.act(r, "login", name)
	return nil
}

// End ends the session of a request, if it has one, in all processes, and removes its cookie.
func (f *Form) End(w http.ResponseWriter, r *http.Request) error {
	one, err := f.session(r)
	if err != nil {
		return err
	}
	if one.name != "" {
		if err := f.site.Sessions.End(r.Context(), one.id, SessionTime+time.Minute); err != nil {
			return err
		}
		f.act(r, "logout", one.name)
	}
	f.set(w, r, "", -1)
	return nil
}

// act logs a login or logout, and puts it into the audit stream. A login that fails is only logged: anyone can fill the
// stream with those.
func (f *Form) act(r *http.Request, name, user string) {
	by := &audit.Actor{Who: user, By: audit.Dashboard, From: f.site.from(r), Log: f.site.log}
	f.site.log.Info(name, "user", by.Who, "from", by.From)
	if f.site.Audit != nil {
		f.site.Audit(r.Context(), by, audit.Act{Act: name, N: 1, Answer: audit.Done})
	}
}

// session is a session that has not ended. The zero value is none.
type session struct{ id, name string }

var cookieForm = regexp.MustCompile(`^([0-9A-Za-z_-]{22})\.([0-9A-Za-z_-]+)$`)

// session returns the session of a request. The error is that of Sessions.
func (f *Form) session(r *http.Request) (session, error) {
	cookie, err := r.Cookie(Cookie)
	if err != nil {
		return session{}, nil
	}
	parts := cookieForm.FindStringSubmatch(cookie.Value)
	if parts == nil {
		return session{}, nil
	}
	id, token := parts[1], parts[2]
	secret, ended, err := f.site.Sessions.Read(r.Context(), id)
	if err != nil {
		return session{}, fmt.Errorf("%w: %w", errSessions, err)
	}
	if secret == "" || ended {
		return session{}, nil
	}
	sealer, err := sealerOf(secret)
	if err != nil {
		return session{}, err
	}
	plain, _, err := sealer.Open(purpose+id, token, time.Now())
	if err != nil || len(plain) < sha256.Size {
		return session{}, nil
	}
	name := string(plain[sha256.Size:])
	hash, exists := f.site.users.hashes[name]
	if !exists || !hmac.Equal(plain[:sha256.Size], proof(hash, id)) {
		return session{}, nil
	}
	return session{id, name}, nil
}

// sessionPoll is the time between two questions whether a session has ended.
const sessionPoll = 2 * time.Second

// UntilLogout returns a context that ends with the session of its user, such as when the user logs out or Redis has
// lost its memory. While Redis does not answer, it goes on.
func UntilLogout(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	lasts := Of(ctx).lasts
	if lasts == nil {
		return ctx, cancel
	}
	go func() {
		polls := time.NewTicker(sessionPoll)
		defer polls.Stop()
		for {
			select {
			case <-polls.C:
				if ok, err := lasts(ctx); err == nil && !ok {
					cancel()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, cancel
}

// User returns the name of the user whose session a request has; empty: there is none, or Redis does not answer.
func (f *Form) User(r *http.Request) string {
	ctx, cancel := context.WithTimeout(r.Context(), userTime)
	defer cancel()
	one, _ := f.session(r.WithContext(ctx))
	return one.name
}

// errSessions is the error of a session of which nobody knows whether it has ended.
var errSessions = errors.New("cannot ask Redis whether the session has ended")

// sealerOf returns the Sealer of a secret, which only sessions have.
func sealerOf(secret string) (*seal.Sealer, error) {
	return seal.New(report.Secret(secret), "sessions", report.Keys{})
}

// proof binds a session to the hash of its user's password: a new password ends it, and the secret in Redis is not
// enough to forge one.
func proof(hash, id string) []byte {
	mac := hmac.New(sha256.New, []byte(hash))
	mac.Write([]byte(id))
	return mac.Sum(nil)
}

// random returns a text with random bytes.
func random(bytes int) string {
	raw := make([]byte, bytes)
	_, _ = rand.Read(raw) // it never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// set sets the cookie of a session. A negative age removes it.
func (f *Form) set(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: Cookie, Value: value, Path: cmp.Or(f.site.path, "/"), MaxAge: age,
		HttpOnly: true, Secure: f.site.secure || r.TLS != nil, SameSite: http.SameSiteLaxMode})
}

// cookie returns the name of the user of a session which a request may use. The API takes one only from pages of this
// site: requests of other sites could carry it.
func (l login) cookie(r *http.Request) (string, error) {
	form := l.Form()
	if form == nil || l.face == audit.API && r.Header.Get("Sec-Fetch-Site") != "same-origin" {
		return "", nil
	}
	one, err := form.session(r)
	return one.name, err
}

// redirects leads a browser that asks for a page to the form, and reports whether it did.
func (l login) redirects(w http.ResponseWriter, r *http.Request) bool {
	if l.Form() == nil || l.face != audit.Dashboard || r.Header.Get("Authorization") != "" ||
		!strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	to := l.Form().Login()
	if next := r.URL.RequestURI(); (r.Method == http.MethodGet || r.Method == http.MethodHead) && next != "/" {
		to += "?next=" + url.QueryEscape(next)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return true
}

// Login returns the address of the form.
func (f *Form) Login() string { return f.site.path + "/login" }

// Next returns the address to which a form leads that was opened with a path of this site; for anything else, that of
// the first page.
func (f *Form) Next(path string) string {
	odd := func(r rune) bool { return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r) }
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") ||
		strings.Contains(u.Path, "/..") || strings.ContainsFunc(path, odd) {
		return f.site.path + "/"
	}
	return f.site.path + path
}
