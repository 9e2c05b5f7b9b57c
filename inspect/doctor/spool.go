package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/spool"
)

// checkSpool proves all that a spool must be able to, if one is configured.
func checkSpool(ctx context.Context, d *doctor) Findings {
	if d.Spool == "" {
		return nil
	}
	f := checkPlace(ctx, "spool", d.Spool, d.OpenSpool, proveSpool)
	if place, err := d.OpenSpool(ctx); err == nil && f.Result == Pass {
		f.Detail += handed(ctx, d, place)
	}
	return Findings{f}
}

// handed says where services write segments, if a report has an external listener, and the installation has a tag.
func handed(ctx context.Context, d *doctor, place sink.Sink) string {
	for _, r := range d.Config.Reports {
		for _, l := range r.Listeners() {
			if l.Kind != report.External {
				continue
			}
			tag, err := d.Records.Installation(ctx)
			if err != nil || tag == "" {
				return ""
			}
			url := place.URL("x")
			return "; services write segments to " + url[:len(url)-1] + "<report>/<id>-<attempt>-" + tag +
				"=<listener>=0-<writer>=<number>.zst"
		}
	}
	return ""
}

var (
	errOverwrites = sink.Failure("it accepts a second object of the same name: use a place that does not", sink.ErrUnfit)
	errOtherBytes = errors.New("an object has other bytes than were written")
	errUnlisted   = errors.New("an object was written, and listing its name does not find it")
	errStays      = errors.New("an object was deleted, and listing its name still finds it")
)

// proveSpool writes, lists, reads and deletes an object as tasks and fan-in do, and says what is there.
func proveSpool(ctx context.Context, s sink.Sink) (detail string, err error) {
	name, text := sink.NewProbe(sink.ProbeFolder), []byte("fanfold\n")
	if err := write(ctx, s, name, text); err != nil {
		return "", err
	}
	free := freeAt(s, name)
	switch err = write(ctx, s, name, []byte("another\n")); {
	case err == nil:
		err = errOverwrites
	case errors.Is(err, sink.ErrConflict):
		err = proveReads(ctx, s, name, text)
	}
	// Deleted after an error, too.
	if removed := s.Remove(ctx, name); err == nil {
		err = removed
	}
	if err != nil {
		return "", err
	}
	if listed, err := lists(ctx, s, name); err != nil || listed {
		return "", errors.Join(err, map[bool]error{true: errStays}[listed])
	}
	there, err := segments(ctx, s)
	return "an object was written, listed, read and deleted; " + there + free, err
}

// write writes an object whole.
func write(ctx context.Context, s sink.Sink, name string, text []byte) error {
	w, err := s.Create(ctx, sink.Object{Name: name, ContentType: "application/zstd"})
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := w.Write(text); err != nil {
		return err
	}
	_, err = w.Commit()
	return err
}

// proveReads lists an object and compares its bytes.
func proveReads(ctx context.Context, s sink.Sink, name string, text []byte) error {
	if listed, err := lists(ctx, s, name); err != nil {
		return err
	} else if !listed {
		return errUnlisted
	}
	in, err := s.Open(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if got, err := io.ReadAll(io.LimitReader(in, 1<<10)); err != nil {
		return err
	} else if !bytes.Equal(got, text) {
		return errOtherBytes
	}
	return nil
}

// lists tells whether a place lists an object.
func lists(ctx context.Context, s sink.Sink, name string) (found bool, err error) {
	for l, err := range s.List(ctx, name) {
		if err != nil {
			return false, err
		}
		found = found || l.Object == name
	}
	return found, nil
}

// maxListed bounds the objects that segments lists: those of some pages of a bucket.
const maxListed = 10_000

// segments says how many segments a place has, and their size if it is on this machine.
func segments(ctx context.Context, s sink.Sink) (string, error) {
	local, _ := s.(sink.Local)
	var count, listed int
	var size int64
	for l, err := range s.List(ctx, "") {
		if err != nil {
			return "", err
		}
		if listed++; listed > maxListed {
			return fmt.Sprintf("it has at least %s", words.Count(count, "segment")), nil
		}
		if _, ok := spool.Parse(l.Object); !ok {
			continue
		}
		count++
		if local != nil {
			n, _ := local.Size(l.Object) // its job may have ended
			size += n
		}
	}
	text := "it has " + words.Count(count, "segment")
	if size > 0 {
		text += " (" + words.Bytes(size) + ")"
	}
	return text, nil
}

// freeAt says how much space is free where an object lies; empty: that is not known.
func freeAt(s sink.Sink, name string) string {
	local, ok := s.(sink.Local)
	if !ok {
		return ""
	}
	path, err := local.Path(name)
	if err != nil {
		return ""
	}
	if n, ok := freeSpace(path); ok {
		return ", and " + words.Bytes(n) + " are free"
	}
	return ""
}
