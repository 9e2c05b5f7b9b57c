package waiting

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// Pass is what a link permits: to see a record until an expiry.
type Pass struct {
	ID      string      // of the record
	Mark    record.Mark // of the record, so that the link does not show a later one with the same id
	Expires time.Time   // in whole seconds
	Person  string      // whose past exports the page lists; empty: none
}

// Errors of Open. They reveal nothing about the record.
var (
	ErrToken   = errors.New("waiting: not a valid link")
	ErrExpired = errors.New("waiting: the link has expired")
)

const (
	// MaxLinkTime is the maximum validity of a link.
	MaxLinkTime = 90 * 24 * time.Hour
	// maxPerson is the max length of a person, in bytes.
	maxPerson = 200
	// maxToken is longer than any token.
	maxToken = 512
	// headBytes are the bytes before the id: expiry, mark, length of the id.
	headBytes = 8 + len(record.Mark{}) + 1
	// purpose separates these tokens from other uses of the same key.
	purpose = "fanfold waiting page 2"
)

// Sealer seals passes into tokens and opens them. It is safe for concurrent use.
type Sealer struct{ seal cipher.AEAD }

// NewSealer makes the Sealer of an installation, which its tag (see record.Store.Install) and its
// prefixes in Redis identify. Tokens of one installation are not valid in another, even if both have
// the same key.
func NewSealer(key report.Secret, tag string, of report.Keys) (*Sealer, error) {
	if tag == "" {
		return nil, errors.New("waiting: the installation has no tag")
	}
	derived, err := hkdf.Key(sha256.New, []byte(key.Reveal()), nil,
		purpose+"\x00"+tag+"\x00"+of.Prefix+"\x00"+of.Hash, 32)
	if err != nil {
		return nil, fmt.Errorf("waiting: key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("waiting: key: %w", err)
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("waiting: key: %w", err)
	}
	return &Sealer{seal}, nil
}

// Seal makes a token of letters, digits, - and _. It leaves out a person of more than 200 bytes. Open refuses
// a token whose id is not valid.
func (s *Sealer) Seal(p Pass) string {
	if !report.ValidID(p.ID) {
		p.ID = ""
	}
	if len(p.Person) > maxPerson {
		p.Person = ""
	}
	plain := binary.BigEndian.AppendUint64(nil, uint64(p.Expires.Unix()))
	plain = append(plain, p.Mark[:]...)
	plain = append(append(plain, byte(len(p.ID))), p.ID...)
	plain = append(plain, p.Person...)
	return base64.RawURLEncoding.EncodeToString(s.seal.Seal(nil, nil, plain, []byte(purpose)))
}

// Open reads a token. The errors are ErrToken and ErrExpired; with either, the Pass is empty.
func (s *Sealer) Open(token string, now time.Time) (Pass, error) {
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") { // the decoder skips line ends
		return Pass{}, ErrToken
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return Pass{}, ErrToken
	}
	plain, err := s.seal.Open(nil, nil, sealed, []byte(purpose))
	if err != nil || len(plain) < headBytes || len(plain) < headBytes+int(plain[headBytes-1]) {
		return Pass{}, ErrToken
	}
	end := headBytes + int(plain[headBytes-1])
	p := Pass{
		ID: string(plain[headBytes:end]), Mark: record.Mark(plain[8 : headBytes-1]),
		Expires: time.Unix(int64(binary.BigEndian.Uint64(plain)), 0), Person: string(plain[end:]),
	}
	switch {
	case !report.ValidID(p.ID):
		return Pass{}, ErrToken
	case !now.Before(p.Expires):
		return Pass{}, ErrExpired
	}
	return p, nil
}
