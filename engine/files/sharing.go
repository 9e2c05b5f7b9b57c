package files

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// Sharing knows which records have the file of another record's job. A file is deleted only if no record
// points to it: neither the one in its name, nor one of these. All methods are safe for concurrent use.
type Sharing interface {
	// Share notes that records will point to a file. It may be repeated. If the maker of the file still points to it
	// afterwards, the records may point to it within an hour: a sweep that would delete the file sees the note.
	Share(ctx context.Context, file string, ids []string) error
	// Sharers returns the records that share these files: those that point to them, and for an hour those
	// of Share.
	Sharers(ctx context.Context, files []string) (map[string][]string, error)
	// Shares reports whether a record shares a file, as Sharers says.
	Shares(ctx context.Context, file, id string) (bool, error)
	// Unshare forgets files that were deleted.
	Unshare(ctx context.Context, files []string) error
}

// CanShare reports whether records can share files.
func CanShare(f *Files) bool { return f.o.Sharing != nil }

// shareTime bounds Share.
const shareTime = 5 * time.Second

// Share is that of Sharing for the URL of a file.
func Share(ctx context.Context, f *Files, url string, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, shareTime)
	defer cancel()
	return f.o.Sharing.Share(ctx, url, ids)
}

// shared returns which files, by their names in the sink, records share.
func shared(ctx context.Context, f *Files, names ...string) (map[string]bool, error) {
	if f.o.Sharing == nil || len(names) == 0 {
		return nil, nil
	}
	urls := make([]string, len(names))
	for i, name := range names {
		urls[i] = f.o.Sink.URL(name)
	}
	sharers, err := f.o.Sharing.Sharers(ctx, urls)
	if err != nil {
		return nil, &step.Failure{Result: step.Result{Kind: step.Outage, Err: err, Blame: job.BlameRecords}}
	}
	found := map[string]bool{}
	for i, name := range names {
		found[name] = len(sharers[urls[i]]) > 0
	}
	return found, nil
}

// unshare forgets files that were deleted. If that fails, a few bytes stay in the database.
func unshare(ctx context.Context, f *Files, names []string) {
	if f.o.Sharing == nil || len(names) == 0 {
		return
	}
	urls := make([]string, len(names))
	for i, name := range names {
		urls[i] = f.o.Sink.URL(name)
	}
	if err := f.o.Sharing.Unshare(ctx, urls); err != nil {
		f.Log.Debug("could not forget who shared deleted files", "files", len(names), "err", err)
	}
}

// Maker returns the id of the record whose job made a file, which its URL names; empty: it does not.
func Maker(url string) string {
	name := path.Base(url)
	stem, ending, _ := strings.Cut(name, ".")
	made, ok := Parse("report/"+stem+"."+ending, []string{"." + ending})
	if !ok {
		return ""
	}
	return made.ID
}
