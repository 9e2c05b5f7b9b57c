package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/engine/sink/gcs"
	"github.com/fanfold/fanfold/report"
)

func newURL(f *flags) *cobra.Command {
	var expires time.Duration
	c := &cobra.Command{
		Use:   "url ID",
		Short: "Print where a job's file can be read",
		Long: `Url prints a URL by which anybody can read the file of a record, and nothing else,
for a while: a signed URL of Google Cloud Storage, made for this call and kept
nowhere. Treat it as a password. It is signed with the key of the service account, or
by IAM where the credentials have none. For a directory it prints the path. A record
without a file says what it is: 4 is the exit code of one that has failed.`,
		Args: cobra.ExactArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error {
			if !report.ValidID(args[0]) {
				return usage(notID(args[0]))
			}
			if expires < time.Second || expires > gcs.LongestLink {
				return usage(fmt.Errorf("--expires %s is not from 1s to %s", expires, gcs.LongestLink))
			}
			l, err := b.link(c.Context(), args[0], expires)
			if err != nil {
				return err
			}
			return l.print(c.OutOrStdout(), f.output == "json")
		}),
	}
	expires = 15 * time.Minute
	c.Flags().Var((*span)(&expires), "expires", "how long a signed URL is good, 7d at most")
	return c
}

// link is where a file can be read: one of URL and Path.
type link struct {
	ID      string     `json:"id"`
	URL     string     `json:"url,omitempty"`
	Expires *time.Time `json:"expires,omitempty"`
	Path    string     `json:"path,omitempty"`
}

// print writes the URL or path alone, for programs that read no JSON.
func (l link) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(w, l)
	}
	_, err := fmt.Fprintln(w, l.URL+l.Path)
	return err
}

// link finds the file of a record.
func (b *backend) link(ctx context.Context, id string, expires time.Duration) (link, error) {
	records, err := b.records.Read(ctx, []string{id})
	if err != nil {
		return link{}, err
	}
	r, ok := records[id]
	if !ok || r.ID != id {
		return link{}, b.inspect.NoRecord(id)
	}
	if err := withoutFile(r); err != nil {
		return link{}, err
	}
	files, err := b.sink(ctx)
	if err != nil {
		return link{}, err
	}
	name, ours := files.Name(r.File)
	if !ours {
		return link{}, fmt.Errorf("record %s has the file %q, which is not in %s", id, r.File, b.config.Sink)
	}
	l := link{ID: id}
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

// withoutFile is the error of a record that has no file.
func withoutFile(r engine.Record) error {
	switch {
	case r.Status.HasFile():
		return nil
	case r.Status == report.Pending, r.Status == report.Processing:
		return fmt.Errorf("record %s is %s and has no file yet: fanfold watch %s waits for it", r.ID, r.Status, r.ID)
	}
	return jobFailed(fmt.Errorf("record %s is %s and has no file%s\nfanfold retry %s runs it again", r.ID, r.Status, suffix(": ", r.Error), r.ID))
}
