package s3_test

import (
	"context"
	"io"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/s3"
	"github.com/fanfold/fanfold/sink/sinktest"
)

func TestMain(m *testing.M) { testmain.Main(m) }

const (
	bucket = "reports"
	prefix = "daily files/2024"
	name   = "withdrawals/1111-1.csv"
	part   = 5 << 20
	page   = 3
)

func TestSink(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, s3.Kind, func(t *testing.T) sinktest.Place { return newStore(t).place(t) })
}

func begin(ctx context.Context, t *testing.T, s sink.Sink, o sink.Object, contents string) sink.Writer {
	t.Helper()
	w, err := s.Create(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Abort)
	if _, err := io.WriteString(w, contents); err != nil {
		t.Fatal(err)
	}
	return w
}
