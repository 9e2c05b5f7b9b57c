package waiting

import (
	"time"

	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web/link"
)

// Pass is what a link permits: to see a record until an expiry.
type Pass struct {
	ID      string      // of the record
	Mark    record.Mark // of the record, so that the link does not show a later one with the same id
	Expires time.Time   // in whole seconds
	Person  string      // whose past exports the page lists; empty: none
}

const (
	// maxPerson is the max length of a person, in bytes.
	maxPerson = 200
	// headBytes are the bytes before the id: mark, length of the id.
	headBytes = len(record.Mark{}) + 1
	// purpose separates these tokens from those of other pages.
	purpose = "fanfold waiting page 3"
)

// Sealer seals passes into tokens and opens them. It is safe for concurrent use.
type Sealer struct{ of *link.Sealer }

// NewSealer makes a Sealer.
func NewSealer(of *link.Sealer) *Sealer { return &Sealer{of} }

// Seal makes a token of letters, digits, - and _. It leaves out a person of more than 200 bytes. Open refuses
// a token whose id is not valid.
func (s *Sealer) Seal(p Pass) string {
	if !report.ValidID(p.ID) {
		p.ID = ""
	}
	if len(p.Person) > maxPerson {
		p.Person = ""
	}
	plain := append(p.Mark[:], byte(len(p.ID)))
	return s.of.Seal(purpose, p.Expires, append(append(plain, p.ID...), p.Person...))
}

// Open reads a token. The errors are link.ErrToken and link.ErrExpired; with either, the Pass is empty.
func (s *Sealer) Open(token string, now time.Time) (Pass, error) {
	plain, expires, err := s.of.Open(purpose, token, now)
	if err != nil {
		return Pass{}, err
	}
	if len(plain) < headBytes || len(plain) < headBytes+int(plain[headBytes-1]) {
		return Pass{}, link.ErrToken
	}
	end := headBytes + int(plain[headBytes-1])
	p := Pass{
		ID: string(plain[headBytes:end]), Mark: record.Mark(plain[:headBytes-1]), Expires: expires,
		Person: string(plain[end:]),
	}
	if !report.ValidID(p.ID) {
		return Pass{}, link.ErrToken
	}
	return p, nil
}
