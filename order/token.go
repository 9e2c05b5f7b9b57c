package order

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/web/seal"
)

// Pass is what a link permits until an expiry: to order reports for a person, and to see the person's records of them.
type Pass struct {
	Person  string    `json:"p"`
	Tenant  string    `json:"t,omitempty"` // of the person; empty: none
	Reports []string  `json:"r,omitempty"` // that may be ordered; none: all
	Expires time.Time `json:"-"`           // in whole seconds
}

// May reports whether the link permits to order a report.
func (p Pass) May(report string) bool {
	return len(p.Reports) == 0 || slices.Contains(p.Reports, report)
}

const (
	// maxName is the maximum length of a person and of a tenant, in bytes.
	maxName = 200
	// purpose separates these tokens from those of other pages.
	purpose = "fanfold order page 1"
)

// Sealer seals passes into tokens and opens them. It is safe for concurrent use.
type Sealer struct{ of *seal.Sealer }

// NewSealer makes a Sealer.
func NewSealer(of *seal.Sealer) *Sealer { return &Sealer{of} }

// Seal makes a token of letters, digits, - and _. The error matches fault.Input.
func (s *Sealer) Seal(p Pass) (string, error) {
	switch {
	case p.Person == "":
		return "", fault.Input.New("a link to order reports needs a person")
	case !nameable(p.Person) || !nameable(p.Tenant):
		return "", fault.Input.New("a person and a tenant have at most %d bytes of UTF-8, without control characters", maxName)
	}
	plain, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	if len(plain) > seal.MaxPlain {
		return "", fault.Input.New("a link cannot list so many reports: it has room for %d bytes", seal.MaxPlain)
	}
	return s.of.Seal(purpose, p.Expires, plain), nil
}

// nameable reports whether a text can be a person or a tenant.
func nameable(name string) bool {
	return len(name) <= maxName && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// Open reads a token. The errors are seal.ErrToken and seal.ErrExpired; with either, the Pass is empty.
func (s *Sealer) Open(token string, now time.Time) (Pass, error) {
	plain, expires, err := s.of.Open(purpose, token, now)
	if err != nil {
		return Pass{}, err
	}
	p := Pass{Expires: expires}
	if err := json.Unmarshal(plain, &p); err != nil || p.Person == "" {
		return Pass{}, seal.ErrToken
	}
	return p, nil
}
