package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/waiting"
	"github.com/fanfold/fanfold/web/link"
	"github.com/fanfold/fanfold/web/seal"
)

// newSealer returns what seals links to pages.
func newSealer(ctx context.Context, p *Process) (*seal.Sealer, error) {
	tag, err := p.Records.Install(ctx)
	if errors.Is(err, recovery.ErrNoTables) {
		return nil, fault.Config.New("http.link_secret: a link to a waiting page works in one installation only, "+
			"and the table that identifies the installation does not exist: run fanfold migrate (%w)", err)
	} else if err != nil {
		return nil, err
	}
	sealer, err := seal.New(p.Config.HTTP.LinkSecret, tag, p.Config.Keys)
	if err != nil {
		return nil, fault.Config.Of(err)
	}
	return sealer, nil
}

// pages adds the pages behind links, if http.link_secret is set. A link is its own permission.
func (p site) pages(ctx context.Context, in *inspect.Inspector, door *access.Site, to *http.ServeMux) error {
	if p.Config.HTTP.LinkSecret == "" {
		return nil
	}
	sealer, err := newSealer(ctx, p.Process)
	if err != nil {
		return err
	}
	o := waiting.Options{
		Seal: waiting.NewSealer(sealer), Inspect: in, People: p.Records.People(), Find: p.Object,
		Language: p.Config.HTTP.Language, Frames: p.Config.HTTP.FrameAncestors, Log: p.log,
	}
	if p.Config.HTTP.Cancel && !p.Config.HTTP.ReadOnly {
		o.Cancel = p.Operate.Jobs.Cancel
	}
	pages := waiting.New(o)
	to.Handle("/r/", door.Links(pages))
	if !p.Config.HTTP.ReadOnly {
		to.Handle("/o/", door.Links(p.orders(in, door, sealer, pages)))
		to.Handle("GET /order", door.Login(audit.Dashboard, p.ownOrders(sealer, door.Path())))
	}
	if len(p.Config.HTTP.FrameAncestors) > 0 {
		to.HandleFunc("GET "+access.EmbedScript, link.EmbedScript)
	}
	return nil
}

// pageTime is how long a link from the API is valid.
const pageTime = 7 * 24 * time.Hour

// links returns the function that makes links for clients of the API; nil: http.link_secret or http.url is not set.
func (p site) links() func(ctx context.Context, id string) string {
	if p.Config.HTTP.LinkSecret == "" || p.Config.HTTP.URL == "" {
		return nil
	}
	return func(ctx context.Context, id string) string {
		url, err := p.PageURL(ctx, id, time.Now().Add(pageTime))
		if err != nil {
			p.log.Error("cannot create a link to a waiting page", "err", err)
		}
		return url
	}
}

// PageURL returns the address of a record's waiting page, valid until the given time. Anyone who has
// the address can read the page. If the record has an owner, the page also lists the owner's earlier exports.
func (p *Process) PageURL(ctx context.Context, id string, until time.Time) (string, error) {
	site := p.Config.HTTP
	if err := linkable(site); err != nil {
		return "", err
	}
	sealer, err := newSealer(ctx, p)
	if err != nil {
		return "", err
	}
	marks, err := p.Records.Marks(ctx, id)
	if err != nil {
		return "", err
	}
	mark, ok := marks[id]
	if !ok {
		return "", p.Inspect.Jobs.NoRecord(id)
	}
	pass := waiting.Pass{ID: id, Mark: mark, Expires: until}
	if pass.Person, pass.Tenant, err = p.Records.People().Of(ctx, id); err != nil {
		return "", fmt.Errorf("owner of the record: %w", err)
	}
	return site.URL + "/r/" + waiting.NewSealer(sealer).Seal(pass), nil
}

// linkable returns an error if the configuration lacks what links need.
func linkable(site report.Site) error {
	switch {
	case site.LinkSecret == "":
		return fault.Config.New("http.link_secret: not set, but links to pages need it: " +
			"run openssl rand -base64 32 > FILE, and write http: {link_secret_file: FILE} into the configuration of every process")
	case site.URL == "":
		return fault.Config.New("http.url: not set: write the address at which people reach serve --http, " +
			"such as https://reports.example.com")
	}
	return nil
}
