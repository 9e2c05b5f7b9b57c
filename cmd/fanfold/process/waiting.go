package process

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/waiting"
)

// waiting makes the pages of those who wait; nil: the configuration has no key for their links.
func (p *Process) waiting(in *inspect.Inspector, log *slog.Logger) (http.Handler, error) {
	if p.Config.HTTP.Key == "" {
		return nil, nil
	}
	seal, err := waiting.NewSealer(p.Config.HTTP.Key, p.Config.Keys)
	if err != nil {
		return nil, ErrConfig.of(err)
	}
	return waiting.New(waiting.Options{
		Seal: seal, Inspect: in, Redis: p.Redis, Partitions: p.Partitions, Reports: p.Config.Reports, Find: p.Object, Log: log,
	}), nil
}

// pageTime is how long a link is good that the API makes.
const pageTime = 7 * 24 * time.Hour

// page makes links for those who create jobs by HTTP; nil: the configuration does not say how.
func (p *Process) page(log *slog.Logger) func(id string) string {
	if p.Config.HTTP.Key == "" || p.Config.HTTP.URL == "" {
		return nil
	}
	return func(id string) string {
		url, err := p.PageURL(waiting.Pass{ID: id, Expires: time.Now().Add(pageTime)})
		if err != nil {
			log.Error("no link to a waiting page", "err", err)
		}
		return url
	}
}

// PageURL returns the address of the page on which a person sees how a record stands. Whoever has
// the address can read the page until the pass ends.
func (p *Process) PageURL(pass waiting.Pass) (string, error) {
	site := p.Config.HTTP
	switch {
	case site.Key == "":
		return "", ErrConfig.of(errors.New("http.key: not set, so no link to a waiting page can be made: write openssl rand -base64 32 > FILE, and http: {key_file: FILE} into the configuration of every process"))
	case site.URL == "":
		return "", ErrConfig.of(errors.New("http.url: not set: write the address under which people reach serve --http, such as https://reports.example.com"))
	}
	seal, err := waiting.NewSealer(site.Key, p.Config.Keys)
	if err != nil {
		return "", ErrConfig.of(err)
	}
	return site.URL + "/r/" + seal.Seal(pass), nil
}
