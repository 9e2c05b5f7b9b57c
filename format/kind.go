package format

import (
	"fmt"
	"io"
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// Kind is a file format.
type Kind struct {
	report.Format
	Extension   string // the end of the names of its files, such as .csv: a dot, then a to z and 0 to 9
	ContentType string
	// PartRows is the maximum number of rows in a part of the file, such as a sheet; 0: the file has no parts.
	PartRows int64
	// New returns the encoder of one file, which can be a Container. columns are those of its rows; there are as many
	// as f has.
	New func(f *report.File, columns []dataset.Column) (Encoder, error)
	// Lines splits a finished file into its header and its rows, for people who compare two files; nil: at line ends.
	Lines func(f *report.File, file []byte) []Line
}

// Names returns what no two kinds share, for people.
func (k Kind) Names() []string { return []string{"format " + k.Name, "extension " + k.Extension} }

// Encoder turns the rows of one file into bytes. The same rows always become the same bytes.
type Encoder interface {
	// AppendHeader appends what precedes the rows.
	AppendHeader(dst []byte) []byte
	// AppendRow appends a row. Every cell is the JSON of a value, as dataset.Chunk.Cell returns
	// it, or nil for NULL. It is safe for concurrent use.
	AppendRow(dst []byte, cells [][]byte) ([]byte, error)
	// AppendFooter appends what follows the rows, and completes the description of the file.
	AppendFooter(dst []byte, made *Made) []byte
}

// Container is an Encoder whose rows are a part of the file, such as of a zip archive.
type Container interface {
	// Wrap returns the writer of the header, the rows and the footer, which come in pieces of any size.
	// It writes the file to w. Close writes the rest and does not close w; after an error, or if the
	// job ends, it is not called. If the kind has PartRows, the writer is a Parted. With file.split, Wrap
	// is called for each file of the archive, after the Close of the one before.
	Wrap(w io.Writer, t Title) (io.WriteCloser, error)
}

// Parted is the writer of a Container whose rows are in parts, such as sheets.
type Parted interface {
	io.WriteCloser
	// Next ends a part and begins the next one, whose header follows.
	Next() error
}

// Title is what the names inside a file are made of.
type Title struct {
	Report string
	Name   string // under which people save the file, without its ending
}

// Made describes a finished file.
type Made struct {
	Rows     int64            // without the header
	Formulas map[string]int64 // escaped formulas, by the label of their column; nil: none
}

const (
	gzipEnding = ".gz"
	gzipType   = "application/gzip"
	zipEnding  = ".zip"
	zipType    = "application/zip"
)

// ending returns the end of the name of a file of this kind.
func (k Kind) ending(c report.Compression) string {
	switch c {
	case report.Gzip:
		return k.Extension + gzipEnding
	case report.Zip:
		return k.Extension + zipEnding
	}
	return k.Extension
}

// Kinds are the formats that a program has. The first is the default.
type Kinds []Kind

// Config returns what the configuration needs to know of the formats.
func (ks Kinds) Config() []report.Format {
	all := make([]report.Format, len(ks))
	for i, k := range ks {
		all[i] = k.Format
	}
	return all
}

// of returns the kind of a file.
func (ks Kinds) of(f *report.File) (Kind, error) {
	i := slices.IndexFunc(ks, func(k Kind) bool { return k.Name == f.Format })
	if i < 0 {
		return Kind{}, fmt.Errorf("this program has no format %q", f.Format)
	}
	return ks[i], nil
}

// ShowsZone tells whether datetimes in a file are in the time zone of the file.
func (ks Kinds) ShowsZone(f *report.File) bool {
	k, err := ks.of(f)
	return f.TimeZone != "" || err == nil && k.ShowsZone != nil && k.ShowsZone(f)
}

// Ending returns the end of the name of a file, such as .csv.gz.
func (ks Kinds) Ending(f *report.File) string {
	k, _ := ks.of(f)
	return k.ending(f.Compress)
}

// Endings returns the ends of the names of all files that the formats can make.
func (ks Kinds) Endings() []string {
	var all []string
	for _, k := range ks {
		if all = append(all, k.ending(report.Uncompressed)); k.Packed == "" {
			all = append(all, k.ending(report.Gzip))
		}
		all = append(all, k.ending(report.Zip))
	}
	return all
}

// ContentType returns the content type of a file whose name has this end; empty: no format has it.
// A compressed file has no content encoding, so that a download matches its name.
func (ks Kinds) ContentType(ending string) string {
	for _, k := range ks {
		switch ending {
		case k.ending(report.Uncompressed):
			return k.ContentType
		case k.ending(report.Gzip):
			return gzipType
		case k.ending(report.Zip):
			return zipType
		}
	}
	return ""
}

// Begin begins a file that is written to w, in the format that f names. columns is that of Kind.New.
// The caller must call Close or Abort; w is used by one goroutine at a time, and not afterwards.
func (ks Kinds) Begin(f *report.File, columns []dataset.Column, t Title, w io.Writer) (*File, error) {
	k, err := ks.of(f)
	if err != nil {
		return nil, err
	}
	return k.Begin(f, columns, t, w)
}

// Begin is Kinds.Begin for this kind, whatever format f names.
func (k Kind) Begin(f *report.File, columns []dataset.Column, t Title, w io.Writer) (*File, error) {
	if len(columns) != len(f.Columns) {
		return nil, fmt.Errorf("%d columns in a file of %d", len(columns), len(f.Columns))
	}
	encoder, err := k.New(f, columns)
	if err != nil {
		return nil, err
	}
	return k.newFile(encoder, f, t, w)
}
