package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/engine/sink/gcs"
	"github.com/fanfold/fanfold/waiting"
)

func newURL(f *flags) *cobra.Command {
	var expires time.Duration
	var page bool
	c := &cobra.Command{
		Use:   "url ID",
		Short: "Print where a job's file can be read",
		Long: `Url prints a URL by which anybody can read the file of a record, and nothing else,
for a while: a signed URL of Google Cloud Storage, made for this call and kept
nowhere. Treat it as a password. It is signed with the key of the service account, or
by IAM where the credentials have none. For a directory it prints the path. A record
without a file says what it is: 4 is the exit code of one that has failed.

With --page it prints the address of the page on which a person sees how the record
stands, and downloads its file: serve --http shows it, without a login. It needs http.url
and http.key in the configuration.`,
		Args: cobra.ExactArgs(1),
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			of, usual, longest := b.link, 15*time.Minute, gcs.LongestLink
			if page {
				of, usual, longest = b.pageLink, 7*24*time.Hour, waiting.MaxLinkTime
			}
			if !c.Flags().Changed("expires") {
				expires = usual
			}
			if expires < time.Second || expires > longest {
				return usage(fmt.Errorf("--expires %s is not from 1s to %s", expires, longest))
			}
			l, err := of(c.Context(), ids[0], expires)
			switch {
			case err != nil:
				return err
			case f.output == "json":
				return printJSON(c.OutOrStdout(), l)
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), l.URL+l.Path)
			return err
		}),
	}
	c.Flags().Var((*span)(&expires), "expires", "how long the URL is good: a signed one for 15m, 7d at most; a page for 7d, 90d at most")
	c.Flags().Lookup("expires").DefValue = "" // it depends on what it is for
	c.Flags().BoolVar(&page, "page", false, "the page for the person who waits, in place of the file")
	return c
}

// link is where a file can be read: one of URL and Path.
type link struct {
	ID      string     `json:"id"`
	URL     string     `json:"url,omitempty"`
	Expires *time.Time `json:"expires,omitempty"`
	Path    string     `json:"path,omitempty"`
}

// pageLink makes a link to the page of a record.
func (b *backend) pageLink(ctx context.Context, id string, expires time.Duration) (link, error) {
	if _, err := b.Inspect.Record(ctx, id); err != nil {
		return link{ID: id}, err
	}
	until := time.Now().Add(expires).Truncate(time.Second).Add(time.Second)
	url, err := b.PageURL(ctx, id, until)
	return link{ID: id, URL: url, Expires: &until}, err
}

// link finds the file of a record.
func (b *backend) link(ctx context.Context, id string, expires time.Duration) (link, error) {
	l := link{ID: id}
	r, err := b.Inspect.Record(ctx, id)
	switch {
	case err != nil:
		return l, err
	case !r.Status.Final():
		return l, fmt.Errorf("record %s is %s and has no file yet: fanfold watch %s waits for it", id, r.Status, id)
	case !r.Status.HasFile():
		reason := ""
		if r.Error != "" {
			reason = ": " + r.Error
		}
		return l, jobFailed(fmt.Errorf("record %s is %s and has no file%s\nfanfold retry %s runs it again", id, r.Status, reason, id))
	}
	files, name, err := b.Object(ctx, id, r.File)
	if err != nil {
		return l, err
	}
	switch files := files.(type) {
	case *gcs.Sink:
		until := time.Now().Add(expires).Truncate(time.Second).Add(time.Second) // whole seconds count, and 0 is none
		l.URL, err = files.SignedURL(ctx, name, until)
		l.Expires = &until
	case *sink.Dir:
		l.Path, err = files.Path(name)
	}
	return l, err
}
