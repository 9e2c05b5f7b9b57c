package report

import (
	"encoding/base64"
	"errors"
	"strings"
	"time"
)

// Notify defines the request that is sent when a job of a report ends.
type Notify struct {
	// `http://` or `https://`, without user, query and `#`. Redirects are not followed
	URL string `yaml:"url" form:"url" need:"Write https://host[:port][/path], without user, query and #" why:"Write https://host[:port][/path], without user, query and #"`
	// Secret that signs each request: `whsec_` and 24 bytes or more in Base64, such as from
	// `echo "whsec_$(openssl rand -base64 32)"`
	Secret Secret `yaml:"secret" file:"secret_file"`
	// Maximum time of one request
	Timeout time.Duration `yaml:"timeout" default:"10s"`
	// Retries of the request
	Retry Retry `yaml:"retry"`
}

// minSigning is the minimum size of a key, in bytes, so that it cannot be guessed.
const minSigning = 24

// Key returns the key that signs the requests. The error shows no part of the secret.
func (n *Notify) Key() ([]byte, error) {
	text, ok := strings.CutPrefix(n.Secret.Reveal(), "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < minSigning {
		return nil, errors.New("not whsec_ followed by at least 24 bytes in Base64")
	}
	return key, nil
}
