package sink

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fanfold/fanfold/report"
)

// Kind is a kind of place for files. What only some sinks can do, Signer, Local, Maker, their type
// says.
type Kind struct {
	report.SinkKind
	// Open returns the sink of a valid configuration. The sink may use ctx until it is closed.
	Open func(ctx context.Context, s report.Sink) (Sink, error)
	// Local tells whether its sinks are a Local: opening and asking one needs no network.
	Local bool
	// Folder returns the URL of a directory of this machine; nil: the sink has no directories.
	Folder func(path string) report.SinkURL
}

// Names returns what no two kinds share, for people.
func (k Kind) Names() []string { return []string{"sink " + k.Scheme} }

// LongestLink is the maximum validity of a signed URL, whose signatures are of version 4.
const LongestLink = 7 * 24 * time.Hour

// Signer is a sink whose objects anyone can read with a signed URL.
type Signer interface {
	SignedURL(ctx context.Context, name string, until time.Time) (string, error)
}

// Local is a sink whose objects are files of this machine.
type Local interface {
	// Path returns the path of an existing object.
	Path(name string) (string, error)
	// Size returns the size of an existing object in bytes.
	Size(name string) (int64, error)
}

// Maker is a sink whose place can be missing, and can be made. Check then matches fs.ErrNotExist.
type Maker interface {
	Make() error
	// MakeHint says how a person makes it.
	MakeHint() string
}

// Hinter is a sink that knows causes of its errors.
type Hinter interface {
	// Hint says what a person does about an error of Check; empty: the sink does not know.
	Hint(err error) string
}

// Kinds are the sinks that a program has.
type Kinds []Kind

// Config returns what the configuration needs to know of the sinks.
func (ks Kinds) Config() []report.SinkKind {
	all := make([]report.SinkKind, len(ks))
	for i, k := range ks {
		all[i] = k.SinkKind
	}
	return all
}

// Of returns the kind of a sink.
func (ks Kinds) Of(s report.Sink) (Kind, error) {
	i := slices.IndexFunc(ks, func(k Kind) bool { return k.Scheme == s.URL.Scheme() })
	if i < 0 {
		return Kind{}, fmt.Errorf("this program has no sink for %s", s.URL)
	}
	return ks[i], nil
}

// Open opens a sink.
func (ks Kinds) Open(ctx context.Context, s report.Sink) (Sink, error) {
	k, err := ks.Of(s)
	if err != nil {
		return nil, err
	}
	opened, err := k.Open(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("sink %s: %w", s.URL, err)
	}
	return opened, nil
}

// Folder returns the URL of a directory of this machine, or nothing if no kind is one.
func (ks Kinds) Folder(path string) report.SinkURL {
	for _, k := range ks {
		if k.Folder != nil {
			return k.Folder(path)
		}
	}
	return ""
}
