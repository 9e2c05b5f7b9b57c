package s3

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/fanfold/fanfold/sink"
)

// SignedURL returns a URL (signature V4) with which anyone can read the object until the given time, and
// nothing else. A browser saves it under the SaveAs of its sink.Object, which the store keeps. The URL ends
// earlier if the credentials that sign it do, as those of a role. If the object does not exist, the error
// is sink.ErrNoObject.
func (s *Sink) SignedURL(ctx context.Context, name string, until time.Time) (string, error) {
	if err := errors.Join(sink.CheckName(name), context.Cause(ctx)); err != nil {
		return "", err
	}
	if _, err := s.look(ctx, name); code(err) == minio.NoSuchKey {
		return "", fmt.Errorf("%w: %s", sink.ErrNoObject, s.URL(name))
	} else if err != nil {
		return "", fmt.Errorf("look at %s: %w", s.URL(name), refused(err))
	}
	valid := max(time.Until(until).Truncate(time.Second), time.Second)
	url, err := s.core.PresignedGetObject(ctx, s.bucket, s.prefix+name, valid, nil)
	if err != nil {
		return "", fmt.Errorf("sign a URL of %s: %w", s.URL(name), refused(err))
	}
	return url.String(), nil
}
