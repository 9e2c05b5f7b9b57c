package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/order"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/web/seal"
)

func newURL(f *flags) *cobra.Command {
	var expires time.Duration
	var page bool
	var pass order.Pass
	c := &cobra.Command{
		Use:   "url [ID]",
		Short: "Print a URL of a job's file, or of a page",
		Long: `Url prints a signed URL of the bucket with which anyone can read the file of a
record, and nothing else, until it expires. Treat it like a password; it is not stored.
The URL is signed with the key of the service account, or by IAM if the credentials have
no key. For a directory, url prints the path. If the record has no file, url prints its
status; the exit code is 4 if the job failed.

With --page, url prints the address of a page that shows the progress of the record and
offers the download without a login. serve --http serves the page. It needs http.url and
http.link_secret in the configuration.

With --order PERSON and no ID, url prints the address of a page from which that person
orders reports, and sees the person's records, without a login.`,
		Args: func(c *cobra.Command, args []string) error {
			if n := len(args); pass.Person == "" && n != 1 || pass.Person != "" && n != 0 {
				return fault.Input.New("give one ID, or --order PERSON")
			}
			return nil
		},
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			of, usual, longest := b.link, 15*time.Minute, sink.LongestLink
			switch {
			case pass.Person != "":
				ids = []string{""}
				usual, longest = time.Hour, seal.MaxTime
				of = func(ctx context.Context, _ string, expires time.Duration) (place, error) {
					return orderLink(ctx, b, pass, expires)
				}
			case pass.Tenant != "", pass.Reports != nil:
				return fault.Input.New("--tenant and --reports need --order")
			case page:
				of, usual, longest = b.pageLink, 7*24*time.Hour, seal.MaxTime
			}
			if !c.Flags().Changed("expires") {
				expires = usual
			}
			if expires < time.Second || expires > longest {
				return fault.Input.New("--expires %s is not between 1s and %s", expires, longest)
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
	c.Flags().Var((*durationValue)(&expires), "expires",
		"lifetime of the URL; default and maximum: 15m and 7d for a file, 7d and 90d for --page, 1h and 90d for --order")
	c.Flags().Lookup("expires").DefValue = "" // it depends on --page
	c.Flags().BoolVar(&page, "page", false, "print the address of the waiting page instead")
	c.Flags().StringVar(&pass.Person, "order", "", "print the address of the page to order from for this `PERSON`")
	c.Flags().StringVar(&pass.Tenant, "tenant", "", "with --order: the tenant of the person")
	c.Flags().StringSliceVar(&pass.Reports, "reports", nil, "with --order: only these reports, with commas between them")
	return c
}

// place is the location of a file: either URL or Path.
type place struct {
	ID      string     `json:"id,omitempty"` // empty: of no record
	URL     string     `json:"url,omitempty"`
	Expires *time.Time `json:"expires,omitempty"`
	Path    string     `json:"path,omitempty"`
}

// pageLink returns a link to the waiting page of a record.
func (b *backend) pageLink(ctx context.Context, id string, expires time.Duration) (place, error) {
	if _, err := b.Inspect.Jobs.Record(ctx, id); err != nil {
		return place{ID: id}, err
	}
	until := time.Now().Add(expires).Truncate(time.Second).Add(time.Second)
	url, err := b.PageURL(ctx, id, until)
	return place{ID: id, URL: url, Expires: &until}, err
}

// orderLink returns a link to the page to order from.
func orderLink(ctx context.Context, b *backend, of order.Pass, expires time.Duration) (place, error) {
	of.Expires = time.Now().Add(expires).Truncate(time.Second)
	url, err := process.OrderURL(ctx, b.Process, of)
	return place{URL: url, Expires: &of.Expires}, err
}

// link returns a link to the file of a record.
func (b *backend) link(ctx context.Context, id string, expires time.Duration) (place, error) {
	l := place{ID: id}
	r, err := b.Inspect.Jobs.Record(ctx, id)
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
		return l, fault.JobFailed.New("record %s is %s and has no file%s\nfanfold retry %s runs it again", id,
			r.Status, reason, id)
	case report.Skipped(r.Status, r.File, r.Rows):
		return l, fmt.Errorf("record %s is %s and has no file: %s", id, r.Status, report.NoRows)
	}
	found, err := b.Object(ctx, id, r.File)
	if err != nil {
		return l, err
	}
	switch from := found.Sink.(type) {
	case sink.Signer:
		// a URL counts whole seconds, and 0 is invalid
		until := time.Now().Add(expires).Truncate(time.Second).Add(time.Second)
		l.URL, err = from.SignedURL(ctx, found.Name, until)
		l.Expires = &until
	case sink.Local:
		l.Path, err = from.Path(found.Name)
	}
	return l, err
}
