package process

import (
	"context"
	"errors"
	"testing"

	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
)

// TestOpeningASinkThatHangs: no caller waits longer than its request, and the sink is opened once, even
// if the first caller leaves.
func TestOpeningASinkThatHangs(t *testing.T) {
	t.Parallel()
	d, err := dir.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	begun, release := make(chan context.Context, 10), make(chan struct{})
	get := openOnce(func(ctx context.Context) (sink.Sink, error) {
		begun <- ctx
		<-release
		return d, nil
	})
	first, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() {
		_, err := get(first)
		ended <- err
	}()
	lasting := <-begun
	cancel()
	if _, err := get(first); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	go func() {
		_, err := get(t.Context())
		ended <- err
	}()
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if s, err := get(t.Context()); s != sink.Sink(d) || err != nil || len(begun) > 0 || lasting.Err() != nil {
		t.Errorf("%v %v, opened again %d times, %v", s, err, len(begun), lasting.Err())
	}
}

// TestOpeningASinkAgain: after a failure, the next caller opens the sink again.
func TestOpeningASinkAgain(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	opens := 0
	get := openOnce(func(context.Context) (sink.Sink, error) {
		if opens++; opens == 1 {
			return nil, away
		}
		return &dir.Sink{}, nil
	})
	if _, err := get(t.Context()); !errors.Is(err, away) {
		t.Error(err)
	}
	if s, err := get(t.Context()); s == nil || err != nil {
		t.Error(err)
	}
}
