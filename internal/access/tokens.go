package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
)

// tokens are the SHA-256 digests of the tokens of services, by name. A token has 256 random bits, so that a slow hash
// would protect nothing.
type tokens map[string][sha256.Size]byte

func newTokens(digests map[string]string) tokens {
	t := tokens{}
	for name, text := range digests {
		if raw, err := hex.DecodeString(text); err == nil && len(raw) == sha256.Size {
			t[name] = [sha256.Size]byte(raw)
		}
	}
	return t
}

// name returns the name of the token of a request; empty: it has none, or an unknown one.
func (t tokens) name(r *http.Request) (found string) {
	given, ok := bearer(r)
	if !ok {
		return ""
	}
	sum := sha256.Sum256([]byte(given))
	for name, digest := range t {
		if subtle.ConstantTimeCompare(sum[:], digest[:]) == 1 {
			found = name
		}
	}
	return found
}

// NewToken returns a new token and its digest, as a tokens file has it.
func NewToken() (token, digest string) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // it never fails
	token = base64.RawURLEncoding.EncodeToString(raw[:])
	return token, fmt.Sprintf("%x", sha256.Sum256([]byte(token)))
}

// bearer returns the token of a request.
func bearer(r *http.Request) (string, bool) {
	kind, given, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return given, ok && strings.EqualFold(kind, "Bearer")
}
