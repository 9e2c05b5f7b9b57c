package seal

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
)

// TestPurposes: a token opens for its purpose only, with the bytes that were sealed, until it expires.
func TestPurposes(t *testing.T) {
	t.Parallel()
	s, err := New(report.Secret(strings.Repeat("k", 32)), "abc234", report.Keys{Prefix: "fanfold:", Hash: "Record-"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_763_773_822, 0)
	token := s.Seal("one", now.Add(time.Hour), []byte("what"))
	if plain, expires, err := s.Open("one", token, now); string(plain) != "what" || !expires.Equal(now.Add(time.Hour)) || err != nil {
		t.Errorf("%q %s %v", plain, expires, err)
	}
	for _, purpose := range []string{"two", "", "one "} {
		if plain, _, err := s.Open(purpose, token, now); plain != nil || !errors.Is(err, ErrToken) {
			t.Errorf("for %q: %q %v", purpose, plain, err)
		}
	}
	if plain, _, err := s.Open("one", token, now.Add(time.Hour)); plain != nil || !errors.Is(err, ErrExpired) {
		t.Errorf("expired: %q %v", plain, err)
	}
	if long := s.Seal("one", now.Add(time.Hour), make([]byte, MaxPlain)); len(long) > maxToken {
		t.Errorf("a token has %d characters", len(long))
	}
}
