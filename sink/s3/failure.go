package s3

import (
	"errors"
	"net/http"
	"slices"

	"github.com/minio/minio-go/v7"

	"github.com/fanfold/fanfold/sink"
)

// code returns what the store said; empty: it said nothing.
func code(err error) string {
	answer, _ := errors.AsType[minio.ErrorResponse](err)
	return answer.Code
}

// passing are answers with a status of those of refused that may be another one soon.
var passing = []string{
	"BadDigest", "ExpiredToken", "ExpiredTokenException", "IncompleteBody", "RequestTimeout",
	"XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch", minio.NoSuchKey, minio.NoSuchUpload,
}

// refused marks an answer of the store that stays the same until the bucket, the grants or the store change.
func refused(err error) error {
	final := []int{
		http.StatusMovedPermanently, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusNotFound, http.StatusNotImplemented,
	}
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	if !ok || !slices.Contains(final, answer.StatusCode) || slices.Contains(passing, answer.Code) {
		return err
	}
	return sink.Refused(err)
}

// taken tells whether the condition of a commit failed, or met another write of that name.
func taken(err error) bool {
	answer, _ := errors.AsType[minio.ErrorResponse](err)
	return answer.StatusCode == http.StatusPreconditionFailed || answer.StatusCode == http.StatusConflict
}
