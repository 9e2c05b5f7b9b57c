package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/sink"
)

// File is where the file of a record is.
type File struct {
	Sink        sink.Sink
	Name        string     // in the sink
	Made        files.Name // what the name says; without an ID if no job made the file
	Shared      bool       // the record shares it with the one whose job made it
	ContentType string
}

// Find finds the file of a record, as its file column names it.
type Find func(ctx context.Context, id, file string) (File, error)

// ErrElsewhere is returned for a file that cannot be downloaded from the sink, however often one
// tries: it is in another sink, was not made by a job of the record, or is no file.
var ErrElsewhere = errors.New("the file of the record is not one of the sink")

const (
	// LinkTime is how long a signed URL is valid.
	LinkTime = 5 * time.Minute
	// findTime bounds the search for the file.
	findTime = 15 * time.Second
	// nameTime bounds the wait for a name from the manifest.
	nameTime = 2 * time.Second
	// signTime bounds the wait for a signature.
	signTime = 10 * time.Second
	// writeTime is how long a client may take to receive a chunk of a file.
	writeTime = 30 * time.Second
	chunk     = 256 << 10
)

// Serve answers a GET or HEAD with the file of a record, as its file column names it: 302 to a
// signed URL, or 200 with the bytes. Of a file in a directory, also 206 with the ranges that the
// request names, so that a broken download resumes: its ETag stands for the bytes, which never
// change under one name. A download is logged before its answer begins. If it returns an
// error, nothing is written yet. The error matches sink.ErrNoObject if the file does not exist, and
// ErrElsewhere if the sink cannot have it.
//
// If the file cannot be read to its end, the client sees an aborted transfer, never a short file.
func (find Find) Serve(w http.ResponseWriter, r *http.Request, id, file string) error {
	limited, cancel := context.WithTimeout(r.Context(), findTime)
	found, err := find(limited, id, file)
	cancel()
	if err != nil {
		return err
	}
	if found.Made.ID != id && !found.Shared {
		return fmt.Errorf("%[3]w: %[2]q of record %[1]s was not made by a job of this record, and the record does not share it", id, file, ErrElsewhere)
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if s, ok := found.Sink.(sink.Signer); ok {
		ctx, cancel := context.WithTimeout(r.Context(), signTime)
		defer cancel()
		url, err := s.SignedURL(ctx, found.Name, time.Now().Add(LinkTime))
		if err != nil {
			return err
		}
		access.Download(r.Context(), id, file) // of a HEAD, too: its answer has the URL
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Location", url)
		w.WriteHeader(http.StatusFound)
		return nil
	}
	in, err := found.Sink.Open(r.Context(), found.Name)
	if errors.Is(err, sink.ErrRefused) {
		return fmt.Errorf("%w: %w", ErrElsewhere, err)
	} else if err != nil {
		return err
	}
	defer in.Close()
	if r.Method == http.MethodGet {
		access.Download(r.Context(), id, file)
	}
	h.Set("Content-Type", found.ContentType)
	h.Set("Content-Disposition", sink.Attachment(found.saveAs(r.Context())))
	h.Set("X-Content-Type-Options", "nosniff")
	to := &deadlineWriter{w, http.NewResponseController(w)}
	if file, ok := in.(io.ReadSeeker); ok {
		h.Set("ETag", found.etag())
		http.ServeContent(to, r, "", time.Time{}, file) // it states the length: after an error the transfer is short
		return nil
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := to.ReadFrom(in); err != nil {
		panic(http.ErrAbortHandler) // where the length is unknown, only an abort tells the client
	}
	return nil
}

// etag stands for the bytes of a file: no other file ever has its name in this installation.
func (f File) etag() string {
	return fmt.Sprintf(`"%s-%d-%s"`, f.Made.ID, f.Made.Attempt, f.Made.Tag)
}

// saveAs returns the name under which a browser saves the file: that of its manifest, if it has one.
func (f File) saveAs(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, nameTime)
	defer cancel()
	if m, err := sink.ReadManifest(ctx, f.Sink, f.Name); err == nil && m.SaveAs != "" {
		return m.SaveAs
	}
	return f.Made.Report + "-" + f.Made.ID + f.Made.Ending
}

// deadlineWriter sets a write deadline per chunk, in place of the server's deadline for the response.
type deadlineWriter struct {
	http.ResponseWriter
	to *http.ResponseController
}

// Write implements io.Writer.
func (p *deadlineWriter) Write(b []byte) (int, error) {
	if err := p.to.SetWriteDeadline(time.Now().Add(writeTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return p.ResponseWriter.Write(b)
}

// ReadFrom implements io.ReaderFrom, which a copy uses: chunks are larger than its own.
func (p *deadlineWriter) ReadFrom(r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{p}, struct{ io.Reader }{r}, make([]byte, chunk))
}
