package s3

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/fanfold/fanfold/sink"
)

// Check writes, reads and deletes an object with a random name, by one request and in parts. It also proves
// that the store honours the condition on both: a second object of that name is refused. After an error the
// object may remain. An error of a store that ignores the condition matches sink.ErrRefused, and Create then
// fails, too, until another Check succeeds.
func (s *Sink) Check(ctx context.Context) error {
	name := sink.NewProbe(sink.ProbePrefix)
	err := context.Cause(ctx)
	if err == nil {
		err = s.prove(ctx, name)
		if left := s.Remove(context.WithoutCancel(ctx), name); err == nil || left != nil && !sameCause(err, left) {
			err = errors.Join(err, left)
		}
	}
	if err != nil {
		return fmt.Errorf("write, read and delete below %s: %w", s.root, err)
	}
	return nil
}

func (s *Sink) prove(ctx context.Context, name string) error {
	for _, first := range []bool{false, true} { // whether the first object has parts
		if err := s.write(ctx, name, "fanfold 1\n", first); err != nil {
			return err
		}
		for request, parts := range map[string]bool{"PutObject": false, "CompleteMultipartUpload": true} {
			err := s.write(ctx, name, "fanfold 2\n", parts)
			if err == nil {
				s.ignores.Store(&request)
				return ignored(request)
			} else if !errors.Is(err, sink.ErrConflict) {
				return fmt.Errorf("a second object of that name by %s: %w", request, err)
			}
		}
		if err := s.has(ctx, name, "fanfold 1\n"); err != nil {
			return err
		}
		if err := s.Remove(ctx, name); err != nil {
			return err
		}
	}
	s.ignores.Store(new(string))
	return nil
}

// ignored is the error of a store that ignores the condition of a request.
func ignored(request string) error {
	return sink.Failure("this store ignores If-None-Match: * on "+request+", so that a file could be "+
		"overwritten: use a version or a store that honours it, or another sink", sink.ErrRefused, sink.ErrUnfit)
}

// write creates an object, in parts or not.
func (s *Sink) write(ctx context.Context, name, contents string, parts bool) error {
	u := s.upload(ctx, sink.Object{Name: name, ContentType: "text/plain"})
	w := sink.NewWriter(ctx, u)
	defer w.Abort()
	if parts {
		if err := u.begin(); err != nil {
			return u.Failed("write", refused(err))
		}
	}
	if _, err := io.WriteString(w, contents); err != nil {
		return err
	}
	_, err := w.Commit()
	return err
}

// has compares an object with what was written.
func (s *Sink) has(ctx context.Context, name, contents string) error {
	in, err := s.Open(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	got, err := io.ReadAll(in)
	if err == nil && string(got) != contents {
		err = errors.New("the store returns other bytes than were written")
	}
	return err
}
