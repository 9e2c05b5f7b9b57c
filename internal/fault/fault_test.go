package fault

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestAnErrorHasItsKindAndItsText(t *testing.T) {
	t.Parallel()
	missing := NotFound.New("no row %d", 7)
	wrapped := fmt.Errorf("read: %w", missing)
	if wrapped.Error() != "read: no row 7" || !errors.Is(wrapped, NotFound) || !errors.Is(wrapped, missing) || errors.Is(wrapped, Input) {
		t.Errorf("%v has not exactly its kind", wrapped)
	}
	both := Refused.Of(fmt.Errorf("not now: %w: %w", wrapped, io.EOF))
	if !errors.Is(both, Refused) || !errors.Is(both, NotFound) || !errors.Is(both, io.EOF) || KindOf(both) != Refused {
		t.Errorf("%v of the kind %q does not match all that it wraps", both, KindOf(both))
	}
	if Input.Of(nil) != nil || KindOf(io.EOF) != "" || KindOf(nil) != "" {
		t.Error("an error has a kind that nobody gave")
	}
}
