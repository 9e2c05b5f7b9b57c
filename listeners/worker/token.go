package worker

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/fanfold/fanfold/web/problems"
)

// tokens are the hashes of the tokens of every listener. Hashes have one length, so a comparison tells nothing.
type tokens map[string][][sha256.Size]byte

// newTokens hashes tokens.
func newTokens(all map[string][]string) tokens {
	ts := tokens{}
	for listener, of := range all {
		for _, token := range of {
			ts[listener] = append(ts[listener], sha256.Sum256([]byte(token)))
		}
	}
	return ts
}

// check returns a problem if the token of a request is not one of the listener; empty: of any listener.
func (ts tokens) check(w http.ResponseWriter, r *http.Request, listener string) error {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given := sha256.Sum256([]byte(strings.TrimSpace(token)))
	known, own := 0, 0
	for name, of := range ts {
		for _, one := range of {
			same := subtle.ConstantTimeCompare(one[:], given[:])
			if known |= same; name == listener || listener == "" {
				own |= same
			}
		}
	}
	switch {
	case known == 0 || !strings.EqualFold(scheme, "Bearer"):
		w.Header().Set("WWW-Authenticate", `Bearer realm="Fanfold"`)
		return problems.Problem{
			Status: http.StatusUnauthorized, Code: "token",
			Detail: "the request has no valid token",
			Remedy: "Send the token of the listener: Authorization: Bearer TOKEN",
		}
	case own == 0:
		return problems.Problem{
			Status: http.StatusForbidden, Code: "token",
			Detail: "the token is that of another listener",
			Remedy: "Send the token of this listener",
		}
	}
	return nil
}
