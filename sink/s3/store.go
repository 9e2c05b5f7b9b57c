package s3

import (
	"context"
	"iter"

	"github.com/minio/minio-go/v7"
)

// store is the bucket, with the requests that more than one operation makes.
type store struct {
	core   *minio.Core
	bucket string
	prefix string // of all keys: prefix/, or nothing
	page   int    // maximum number of objects in an answer; 0: as many as the store likes
	// whether the store lists uploads by a prefix: MinIO does so only by a whole name, or all
	listsUploads bool
}

// remove aborts first: an upload that was committed meanwhile is then deleted.
func (s *store) remove(ctx context.Context, object, id string) error {
	if id != "" {
		return s.abort(ctx, object, id)
	}
	var left []string // a store may not find the next page if the last upload of this one has gone
	for u, err := range s.uploads(ctx, s.prefix+object) {
		if err != nil {
			return err
		}
		if u.Key == s.prefix+object {
			left = append(left, u.UploadID)
		}
	}
	for _, id := range left {
		if err := s.abort(ctx, object, id); err != nil {
			return err
		}
	}
	err := s.core.RemoveObject(ctx, s.bucket, s.prefix+object, minio.RemoveObjectOptions{})
	if code(err) == minio.NoSuchKey {
		return nil
	}
	return err
}

// abort ends an upload if it exists.
func (s *store) abort(ctx context.Context, object, id string) error {
	err := s.core.AbortMultipartUpload(ctx, s.bucket, s.prefix+object, id)
	if code(err) == minio.NoSuchUpload {
		return nil
	}
	return err
}

// uploads returns the multipart uploads that did not end, of keys that begin with prefix.
func (s *store) uploads(ctx context.Context, prefix string) iter.Seq2[minio.ObjectMultipartInfo, error] {
	return func(yield func(minio.ObjectMultipartInfo, error) bool) {
		for key, id := "", ""; ; {
			page, err := s.core.ListMultipartUploads(ctx, s.bucket, prefix, key, id, "", s.page)
			if err != nil {
				yield(minio.ObjectMultipartInfo{}, err)
				return
			}
			for _, u := range page.Uploads {
				if !yield(u, nil) {
					return
				}
			}
			if !page.IsTruncated {
				return
			}
			key, id = page.NextKeyMarker, page.NextUploadIDMarker
		}
	}
}

// look returns the attributes of an object.
func (s *store) look(ctx context.Context, name string) (minio.ObjectInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return s.core.StatObject(ctx, s.bucket, s.prefix+name, minio.StatObjectOptions{Checksum: true})
}
