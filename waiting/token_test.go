package waiting

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web/seal"
)

func sealer(t testing.TB, key, tag string, of report.Keys) *Sealer {
	t.Helper()
	s, err := seal.New(report.Secret(key), tag, of)
	if err != nil {
		t.Fatal(err)
	}
	return NewSealer(s)
}

var (
	ours = report.Keys{Prefix: "fanfold:", Hash: "Record-"}
	now  = time.Unix(1_763_773_822, 0)
	key  = strings.Repeat("k", 32)
	mark = record.Mark{0: 1, 15: 2}
)

func TestToken(t *testing.T) {
	t.Parallel()
	s := sealer(t, key, "abc234", ours)
	for _, p := range []Pass{
		{"1111", mark, now.Add(time.Hour), "", ""}, {"a_b-c", record.Mark{}, now.Add(time.Second), "user 42 ü", "acme"}, {strings.Repeat("x", 64), mark, now.Add(seal.MaxTime), strings.Repeat("p", maxPerson), strings.Repeat("t", maxPerson)},
	} {
		token := s.Seal(p)
		if got, err := s.Open(token, now); err != nil || got != p {
			t.Errorf("%+v %v", got, err)
		}
		if strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" || len(token) > 1000 {
			t.Errorf("%s cannot be a part of a URL", token)
		}
		if token == s.Seal(p) {
			t.Error("two tokens are the same: one tells of the other")
		}
		plain, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil || strings.Contains(string(plain), p.ID) {
			t.Errorf("the token shows the id: %q %v", plain, err)
		}
	}
	if p, err := s.Open(s.Seal(Pass{"1", mark, now.Add(time.Hour), strings.Repeat("p", maxPerson+1), "acme"}), now); err != nil || p.Person != "" || p.Tenant != "" {
		t.Error(p, err)
	}
}

// TestForgedTokens: nothing but what was sealed for this installation, whole and unchanged, opens.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	s := sealer(t, key, "abc234", ours)
	pass := Pass{"1111", mark, now.Add(time.Hour), "p", "t"}
	token := s.Seal(pass)
	forged := map[string]string{
		"none": "", "too long": strings.Repeat("A", 9000), "the id": base64.RawURLEncoding.EncodeToString([]byte("1111")),
		"no base64": token[:len(token)-1] + "!", "padded": token + "==", "with a line break": token[:10] + "\n" + token[10:],
		"another key":             sealer(t, strings.Repeat("l", 32), "abc234", ours).Seal(pass),
		"another installation":    sealer(t, key, "abc235", ours).Seal(pass),
		"another prefix":          sealer(t, key, "abc234", report.Keys{Prefix: "other:", Hash: ours.Hash}).Seal(pass),
		"another hash":            sealer(t, key, "abc234", report.Keys{Prefix: ours.Prefix, Hash: "Other-"}).Seal(pass),
		"prefixes that run on":    sealer(t, key, "abc234", report.Keys{Prefix: ours.Prefix + "R", Hash: "ecord-"}).Seal(pass),
		"an id that is none":      s.Seal(Pass{"../x", mark, now.Add(time.Hour), "", ""}),
		"an id that is too long":  s.Seal(Pass{strings.Repeat("x", 300), mark, now.Add(time.Hour), "", ""}),
		"a token behind a token":  token + token,
		"another kind of base 64": strings.NewReplacer("-", "+", "_", "/").Replace(s.Seal(Pass{"1", mark, now.Add(time.Hour), strings.Repeat("\xff", 150), ""})) + "+",
	}
	for i := range len(token) {
		forged["cut at "+token[:i]] = token[:i]
		for _, with := range "AQZ_" {
			if changed := token[:i] + string(with) + token[i+1:]; changed != token {
				forged["changed "+changed] = changed
			}
		}
	}
	for what, token := range forged {
		if p, err := s.Open(token, now); !errors.Is(err, seal.ErrToken) || p != (Pass{}) {
			t.Errorf("%s: %+v %v", what, p, err)
		}
	}
}

func TestExpiredToken(t *testing.T) {
	t.Parallel()
	s := sealer(t, key, "abc234", ours)
	token := s.Seal(Pass{ID: "1111", Expires: now})
	if _, err := s.Open(token, now.Add(-time.Second)); err != nil {
		t.Error(err)
	}
	for _, at := range []time.Time{now, now.Add(time.Hour)} {
		if p, err := s.Open(token, at); !errors.Is(err, seal.ErrExpired) || p != (Pass{}) {
			t.Errorf("%+v %v", p, err)
		}
	}
}

func FuzzToken(f *testing.F) {
	s := sealer(f, key, "abc234", ours)
	f.Add(s.Seal(Pass{"1111", mark, now.Add(time.Hour), "p", "t"}))
	f.Fuzz(func(t *testing.T, token string) {
		p, err := s.Open(token, now)
		if err == nil && (p.ID != "1111" || p.Mark != mark || p.Person != "p" || p.Tenant != "t") {
			t.Errorf("%q opens as %+v", token, p)
		}
	})
}
