package gcs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"cloud.google.com/go/storage"

	"github.com/fanfold/fanfold/sink"
)

// ErrNoSigner is matched by the error of credentials that cannot sign.
var ErrNoSigner = errors.New("these credentials cannot sign")

// SignedURL returns a URL (signature V4) with which anyone can read the object until the given
// time, and nothing else. It is signed with the key of the service account or, if the credentials
// have none, by IAM; then the account needs iam.serviceAccounts.signBlob on itself. If the object
// does not exist, the error is sink.ErrNoObject.
func (s *Sink) SignedURL(ctx context.Context, name string, until time.Time) (string, error) {
	if err := errors.Join(sink.CheckName(name), context.Cause(ctx)); err != nil {
		return "", err
	}
	if _, err := look(ctx, s.object(name)); errors.Is(err, storage.ErrObjectNotExist) {
		return "", fmt.Errorf("%w: %s", sink.ErrNoObject, s.URL(name))
	} else if err != nil {
		return "", fmt.Errorf("look at %s: %w", s.URL(name), refused(err))
	}
	url, err := s.bucket.SignedURL(s.prefix+name, &storage.SignedURLOptions{
		Scheme: storage.SigningSchemeV4, Method: http.MethodGet, Expires: until,
	})
	if err != nil {
		return "", fmt.Errorf("%w for %s: %w; use those of a service account with a key (GOOGLE_APPLICATION_CREDENTIALS), "+
			"or give the account the role Service Account Token Creator on itself", ErrNoSigner, s.URL(name), err)
	}
	return url, nil
}
