package link

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/fanfold/fanfold/web"
	"github.com/fanfold/fanfold/web/languages"
)

//go:embed head.html
var head string

//go:embed assets
var assets embed.FS

// Parse parses the templates of pages, which can use the template head.
func Parse(source string) *template.Template {
	return template.Must(template.Must(template.New("page").Parse(head)).Parse(source))
}

// Folder is a folder of pages.
type Folder struct {
	Path     string   // such as /r/
	Language string   // code of the language for people who ask for none that the pages have
	Frames   []string // origins of the pages that may show these in a frame
	Log      *slog.Logger
}

// tokenForm is the form of a token.
var tokenForm = regexp.MustCompile(`^[0-9A-Za-z_-]+$`)

// Page is what the template head needs, besides In, the language.
type Page struct {
	Base   string // relative path from the page to its folder
	Query  string // of links, so that they keep the language that the address names and the way back; or empty
	Back   string // token of the page to order from, which has led here; empty: none
	Frames string // see Folder, with spaces between them
}

// Page returns the Page of the address of a request.
func (f Folder) Page(r *http.Request) Page {
	p := Page{
		Base:   strings.Repeat("../", strings.Count(strings.TrimPrefix(r.URL.Path, f.Path), "/")),
		Frames: strings.Join(f.Frames, " "),
	}
	keep := url.Values{}
	if lang := r.URL.Query().Get("lang"); lang != "" {
		keep.Set("lang", lang)
	}
	if p.Back = r.URL.Query().Get("order"); tokenForm.MatchString(p.Back) {
		keep.Set("order", p.Back)
	} else {
		p.Back = ""
	}
	if len(keep) > 0 {
		p.Query = "?" + keep.Encode()
	}
	return p
}

// In returns the language for a request.
func (f Folder) In(r *http.Request) *languages.Language {
	return languages.Choose(f.Language, r.URL.Query().Get("lang"), r.Header.Get("Accept-Language"))
}

// Assets serves the files that the template head names.
func (f Folder) Assets(to *http.ServeMux) {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	for _, name := range []string{"style.css", "live.js", "frame.js", "icon.svg"} {
		to.HandleFunc("GET "+f.Path+"-/"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, files, name)
		})
	}
	to.HandleFunc("GET "+f.Path+"-/stream.js", web.StreamScript)
}

// EmbedScript answers with embed.js, which shows a page behind a link in a page of another site.
func EmbedScript(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, assets, "assets/embed.js")
}

// Write answers with a complete page, or with an error.
func (f Folder) Write(w http.ResponseWriter, r *http.Request, code int, of *template.Template, data any) {
	var out bytes.Buffer
	if err := of.ExecuteTemplate(&out, "page", data); err != nil {
		f.Log.Error("cannot render a page", "folder", f.Path, "err", err)
		http.Error(w, f.In(r).Say("broken"), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = out.WriteTo(w)
}
