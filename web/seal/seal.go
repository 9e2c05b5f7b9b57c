package seal

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

	"github.com/fanfold/fanfold/report"
)

// Errors of Open. They reveal nothing about what was sealed.
var (
	ErrToken   = errors.New("seal: not a valid link")
	ErrExpired = errors.New("seal: the link has expired")
)

const (
	// MaxTime is the maximum validity of a token in a link.
	MaxTime = 90 * 24 * time.Hour
	// MaxPlain is the maximum number of bytes that a token seals.
	MaxPlain = 5000
	// maxToken is longer than any token.
	maxToken = 8000
)

// Sealer seals what links and sessions permit into tokens, and opens them. It is safe for concurrent use.
type Sealer struct{ seal cipher.AEAD }

// New makes the Sealer of an installation, which its tag (see record.Store.Install) and its
// prefixes in Redis identify. Tokens of one installation are not valid in another, even if both have
// the same key.
func New(key report.Secret, tag string, of report.Keys) (*Sealer, error) {
	if tag == "" {
		return nil, errors.New("seal: the installation has no tag")
	}
	derived, err := hkdf.Key(sha256.New, []byte(key.Reveal()), nil,
		"fanfold link 3\x00"+tag+"\x00"+of.Prefix+"\x00"+of.Hash, 32)
	if err != nil {
		return nil, fmt.Errorf("seal: key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("seal: key: %w", err)
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("seal: key: %w", err)
	}
	return &Sealer{seal}, nil
}

// Seal makes a token of letters, digits, - and _ from at most MaxPlain bytes. The token opens only for the same
// purpose, and until it expires, in whole seconds.
func (s *Sealer) Seal(purpose string, expires time.Time, plain []byte) string {
	all := append(binary.BigEndian.AppendUint64(nil, uint64(expires.Unix())), plain...)
	return base64.RawURLEncoding.EncodeToString(s.seal.Seal(nil, nil, all, []byte(purpose)))
}

// Open returns what Seal has sealed, and when it expires. The errors are ErrToken and ErrExpired.
func (s *Sealer) Open(purpose, token string, now time.Time) (plain []byte, expires time.Time, err error) {
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") { // the decoder skips line ends
		return nil, expires, ErrToken
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return nil, expires, ErrToken
	}
	all, err := s.seal.Open(nil, nil, sealed, []byte(purpose))
	if err != nil || len(all) < 8 {
		return nil, expires, ErrToken
	}
	expires = time.Unix(int64(binary.BigEndian.Uint64(all)), 0)
	if !now.Before(expires) {
		return nil, expires, ErrExpired
	}
	return all[8:], expires, nil
}
