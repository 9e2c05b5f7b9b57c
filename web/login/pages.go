package login

import (
	_ "embed"
	"errors"
	"log/slog"
	"net/http"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/web/languages"
	"github.com/fanfold/fanfold/web/link"
)

//go:embed page.html
var source string

var layout = link.Parse(source)

// Pages are the form and its acts.
type Pages struct {
	Form     *access.Form
	Language string // code of the language for people who ask for none that the form has
	Log      *slog.Logger
}

// content is the data of the template.
type content struct {
	link.Page
	In         *languages.Language
	Title      string
	Says       string // why the person is not logged in
	Name, Next string
}

// Add adds the form and its acts to a mux.
func (p Pages) Add(to *http.ServeMux) {
	p.folder().Assets(to)
	to.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		p.write(w, r, http.StatusOK, "", "", r.FormValue("next"))
	})
	to.HandleFunc("POST /login", p.login)
	to.HandleFunc("POST /logout", p.logout)
}

func (p Pages) folder() link.Folder {
	return link.Folder{Path: "/login/", Language: p.Language, Log: p.Log}
}

// login begins a session.
func (p Pages) login(w http.ResponseWriter, r *http.Request) {
	name, next := r.PostFormValue("name"), r.PostFormValue("next")
	switch err := p.Form.Begin(w, r, name, r.PostFormValue("password")); {
	case err == nil:
		http.Redirect(w, r, p.Form.Next(next), http.StatusSeeOther)
	case errors.Is(err, access.ErrPassword):
		p.write(w, r, http.StatusUnauthorized, "login.wrong", name, next)
	case errors.Is(err, access.ErrBusy):
		w.Header().Set("Retry-After", "5")
		p.write(w, r, http.StatusTooManyRequests, "login.busy", name, next)
	default:
		p.unavailable(w, r, err, name, next)
	}
}

// logout ends a session.
func (p Pages) logout(w http.ResponseWriter, r *http.Request) {
	if err := p.Form.End(w, r); err != nil {
		p.unavailable(w, r, err, "", "")
		return
	}
	http.Redirect(w, r, p.Form.Login(), http.StatusSeeOther)
}

// unavailable answers that Redis does not answer.
func (p Pages) unavailable(w http.ResponseWriter, r *http.Request, err error, name, next string) {
	p.Log.Error("cannot log a user in or out", "err", err)
	w.Header().Set("Retry-After", "5")
	p.write(w, r, http.StatusServiceUnavailable, "login.unavailable", name, next)
}

// write answers with the form, and says what is wrong; empty: nothing.
func (p Pages) write(w http.ResponseWriter, r *http.Request, code int, wrong, name, next string) {
	in := p.folder().In(r)
	c := content{Page: link.Page{Base: "login/"}, In: in, Title: in.Say("login"), Name: name, Next: next}
	if wrong != "" {
		c.Says = in.Say(wrong)
	}
	p.folder().Write(w, r, code, layout, c)
}
