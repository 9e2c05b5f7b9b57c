package waiting

import (
	"time"

	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web/seal"
)

// Pass is what a link permits: to see a record until an expiry.
type Pass struct {
	ID      string      // of the record
	Mark    record.Mark // of the record, so that the link does not show a later one with the same id
	Expires time.Time   // in whole seconds
	Person  string      // whose past exports the page lists; empty: none
	Tenant  string      // of the person; empty: none
}

const (
	// maxPerson is the max length of a person and of a tenant, in bytes.
	maxPerson = 200
	// purpose separates these tokens from those of other pages.
	purpose = "fanfold waiting page 3"
)

// Sealer seals passes into tokens and opens them. It is safe for concurrent use.
type Sealer struct{ of *seal.Sealer }

// NewSealer makes a Sealer.
func NewSealer(of *seal.Sealer) *Sealer { return &Sealer{of} }

// Seal makes a token of letters, digits, - and _. It leaves out a person of more than 200 bytes, or of such a tenant.
// Open refuses a token whose id is not valid.
func (s *Sealer) Seal(p Pass) string {
	if !report.ValidID(p.ID) {
		p.ID = ""
	}
	if len(p.Person) > maxPerson || len(p.Tenant) > maxPerson {
		p.Person, p.Tenant = "", ""
	}
	plain := p.Mark[:]
	for _, text := range []string{p.ID, p.Person, p.Tenant} {
		plain = append(append(plain, byte(len(text))), text...)
	}
	return s.of.Seal(purpose, p.Expires, plain)
}

// Open reads a token. The errors are seal.ErrToken and seal.ErrExpired; with either, the Pass is empty.
func (s *Sealer) Open(token string, now time.Time) (Pass, error) {
	plain, expires, err := s.of.Open(purpose, token, now)
	if err != nil {
		return Pass{}, err
	}
	p := Pass{Expires: expires}
	plain = plain[copy(p.Mark[:], plain):]
	for _, to := range []*string{&p.ID, &p.Person, &p.Tenant} {
		if len(plain) == 0 || len(plain) <= int(plain[0]) {
			return Pass{}, seal.ErrToken
		}
		end := 1 + int(plain[0])
		*to, plain = string(plain[1:end]), plain[end:]
	}
	if !report.ValidID(p.ID) {
		return Pass{}, seal.ErrToken
	}
	return p, nil
}
