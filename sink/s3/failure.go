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
	if !final(err) {
		return err
	}
	return sink.Refused(err)
}

// final tells whether an error is such an answer.
func final(err error) bool {
	statuses := []int{
		http.StatusMovedPermanently, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusNotFound, http.StatusNotImplemented,
	}
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && slices.Contains(statuses, answer.StatusCode) && !slices.Contains(passing, answer.Code)
}

// taken tells whether the condition of a commit failed, or met another write of that name.
func taken(err error) bool {
	answer, _ := errors.AsType[minio.ErrorResponse](err)
	return answer.StatusCode == http.StatusPreconditionFailed || answer.StatusCode == http.StatusConflict
}
