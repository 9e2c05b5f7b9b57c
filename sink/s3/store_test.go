package s3_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink/s3"
	"github.com/fanfold/fanfold/sink/s3/s3test"
	"github.com/fanfold/fanfold/sink/sinktest"
)

// store is a bucket of a fake, or of the server that FANFOLD_TEST_S3 names, and a way of its own to it.
type store struct {
	options s3.Options
	bucket  string
	client  *minio.Core
}

// newStore returns an empty bucket.
func newStore(t *testing.T) *store {
	t.Helper()
	real := testmain.SharedS3(t)
	if real == nil {
		return fakeStore(t, s3test.Start(t, bucket))
	}
	s := storeAt(t, real.URL, real.AccessKey, real.SecretKey, strings.ReplaceAll(testmain.Name(t), "_", "-"))
	if err := s.client.MakeBucket(t.Context(), s.bucket, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return s
}

func fakeStore(t *testing.T, fake *s3test.Store) *store {
	t.Helper()
	return storeAt(t, fake.URL, s3test.AccessKey, s3test.SecretKey, fake.Bucket)
}

func storeAt(t *testing.T, url, accessKey, secretKey, bucket string) *store {
	t.Helper()
	s := &store{bucket: strings.Trim(bucket, "-"), options: s3.Options{
		Endpoint: url, Region: "us-east-1", AccessKey: report.Secret(accessKey), SecretKey: report.Secret(secretKey),
		PartSize: part,
	}}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	var err error
	s.client, err = minio.NewCore(strings.TrimPrefix(url, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Region: "us-east-1", Transport: transport,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// open returns a sink whose requests pass a network.
func (s *store) open(t *testing.T) (*s3.Sink, *sinktest.Network) {
	t.Helper()
	network := &sinktest.Network{}
	out, err := s3.OpenWith("s3://"+report.SinkURL(s.bucket)+"/"+prefix, s.options,
		func(t *http.Transport) http.RoundTripper {
			network.Next = t
			return network
		})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	s3.SetProved(out)
	return out, network
}

func (s *store) place(t *testing.T) sinktest.Place {
	t.Helper()
	out, network := s.open(t)
	s3.SetPage(out, page)
	return sinktest.Place{Sink: out, Network: network, Page: page, List: s.list, Read: s.read, Stored: s.stored}
}

// stored also checks that the store has the checksum.
func (s *store) stored(t *testing.T, name string) sinktest.Stored {
	t.Helper()
	o, err := s.client.StatObject(t.Context(), s.bucket, prefix+"/"+name, minio.StatObjectOptions{Checksum: true})
	if err != nil {
		t.Fatal(err)
	}
	if o.ChecksumCRC64NVME == "" {
		t.Errorf("%s has no checksum", name)
	}
	metadata := map[string]string{}
	for key, value := range o.UserMetadata {
		metadata[strings.ToLower(key)] = value
	}
	return sinktest.Stored{
		ContentType: o.ContentType, Disposition: o.Metadata.Get("Content-Disposition"), Metadata: metadata,
	}
}

// list returns the names of all objects, and of all uploads that have not ended.
func (s *store) list(t *testing.T) (names []string) {
	t.Helper()
	for o := range s.client.ListObjectsIter(t.Context(), s.bucket, minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		names = append(names, strings.TrimPrefix(o.Key, prefix+"/"))
	}
	uploads, err := s.client.ListMultipartUploads(t.Context(), s.bucket, "", "", "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range uploads.Uploads {
		names = append(names, strings.TrimPrefix(u.Key, prefix+"/")+" upload")
	}
	slices.Sort(names)
	return names
}

func (s *store) read(t *testing.T, name string) []byte {
	t.Helper()
	in, _, _, err := s.client.GetObject(t.Context(), s.bucket, prefix+"/"+name, minio.GetObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	contents, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return contents
}
