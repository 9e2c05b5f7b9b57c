// Package s3test is a store with the API of S3 for tests. It checks signatures and checksums, and honours
// If-None-Match: * on PutObject and CompleteMultipartUpload.
package s3test

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"hash/crc64"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The credentials of the store.
const (
	AccessKey = "fanfold-test"
	SecretKey = "fanfold-test-secret"
)

// Store is a store with one bucket, in memory. Set its fields before the first request.
type Store struct {
	URL    string // http://127.0.0.1:port
	Bucket string

	Page               int  // maximum number of keys in an answer; 0: 1000
	IgnoresOnPut       bool // the condition on PutObject
	IgnoresOnComplete  bool // the condition on CompleteMultipartUpload
	KeepsNoChecksum    bool // of objects
	AnswersConflict409 bool // 409 where the condition fails, as for writes at the same time

	mu      sync.Mutex
	objects map[string]Object
	uploads map[string]*upload // by id
}

// Object is an object of the store.
type Object struct {
	Data     []byte
	Header   http.Header // Content-Type, Content-Disposition and the metadata
	Checksum string      // CRC-64/NVME, base64; empty: none
	Modified time.Time
	etag     string
}

// upload is a multipart upload that has not ended.
type upload struct {
	key    string
	header http.Header
	begun  time.Time
	parts  map[int]part
}

type part struct {
	data []byte
	etag string
}

// New returns a store that a server has yet to serve.
func New(bucket string) *Store {
	return &Store{Bucket: bucket, objects: map[string]Object{}, uploads: map[string]*upload{}}
}

// Start starts a store that ends with the test.
func Start(t testing.TB, bucket string) *Store {
	t.Helper()
	s := New(bucket)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Names returns the keys of all objects, and of all uploads that have not ended with their id.
func (s *Store) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Collect(maps.Keys(s.objects))
	for id, u := range s.uploads {
		names = append(names, u.key+"?uploadId="+id)
	}
	return names
}

// Object returns an object.
func (s *Store) Object(key string) (Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[key]
	return o, ok
}

// Damage changes a byte of an object.
func (s *Store) Damage(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key].Data[0] ^= 1
}

// failure is an answer with an error.
type failure struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Message string
	status  int
}

func fail(status int, code string) *failure {
	return &failure{Code: code, Message: code, status: status}
}

// ServeHTTP implements http.Handler.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := make([]byte, max(r.ContentLength, 0))
	if _, err := io.ReadFull(r.Body, body); err != nil {
		answerFailure(w, r, fail(http.StatusBadRequest, "IncompleteBody"))
		return
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case !signed(r):
		answerFailure(w, r, fail(http.StatusForbidden, "SignatureDoesNotMatch"))
	case bucket != s.Bucket:
		answerFailure(w, r, fail(http.StatusNotFound, "NoSuchBucket"))
	case !intact(r.Header, body):
		answerFailure(w, r, fail(http.StatusBadRequest, "BadDigest"))
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		if failed := s.answer(w, r, key, body); failed != nil {
			answerFailure(w, r, failed)
		}
	}
}

func answerFailure(w http.ResponseWriter, r *http.Request, failed *failure) {
	w.WriteHeader(failed.status)
	if r.Method != http.MethodHead {
		_ = xml.NewEncoder(w).Encode(failed)
	}
}

func answerXML(w http.ResponseWriter, answer any) *failure {
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(answer)
	return nil
}

func (s *Store) answer(w http.ResponseWriter, r *http.Request, key string, body []byte) *failure {
	query := r.URL.Query()
	id, number := query.Get("uploadId"), query.Get("partNumber")
	switch {
	case key == "" && query.Has("uploads"):
		return s.listUploads(w, r)
	case key == "":
		return s.list(w, r)
	case r.Method == http.MethodPost && query.Has("uploads"):
		return s.begin(w, r, key)
	case id != "":
		u := s.uploads[id]
		if u == nil || u.key != key {
			return fail(http.StatusNotFound, "NoSuchUpload")
		}
		switch r.Method {
		case http.MethodPut:
			return u.put(w, number, body)
		case http.MethodPost:
			return s.complete(w, r, id, u, body)
		case http.MethodDelete:
			delete(s.uploads, id)
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
	case r.Method == http.MethodPut:
		return s.put(w, r, key, body)
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
		return nil
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		return s.get(w, r, key)
	}
	return fail(http.StatusNotImplemented, "NotImplemented")
}

// described returns what of the headers belongs to an object.
func described(h http.Header) http.Header {
	of := http.Header{}
	for name, values := range h {
		if name == "Content-Type" || name == "Content-Disposition" || strings.HasPrefix(name, "X-Amz-Meta-") {
			of[name] = values
		}
	}
	return of
}

// taken tells whether the condition of a request fails.
func (s *Store) taken(r *http.Request, key string, ignores bool) *failure {
	if _, exists := s.objects[key]; !exists || ignores || r.Header.Get("If-None-Match") != "*" {
		return nil
	}
	if s.AnswersConflict409 {
		return fail(http.StatusConflict, "ConditionalRequestConflict")
	}
	return fail(http.StatusPreconditionFailed, "PreconditionFailed")
}

func (s *Store) put(w http.ResponseWriter, r *http.Request, key string, body []byte) *failure {
	if failed := s.taken(r, key, s.IgnoresOnPut); failed != nil {
		return failed
	}
	s.add(key, body, described(r.Header), r.Header.Get(checksumHeader))
	w.Header().Set("ETag", s.objects[key].etag)
	return nil
}

func (s *Store) add(key string, data []byte, header http.Header, checksum string) {
	if s.KeepsNoChecksum {
		checksum = ""
	}
	s.objects[key] = Object{Data: data, Header: header, Checksum: checksum, Modified: time.Now(), etag: etag(data)}
}

func etag(body []byte) string { return `"` + strconv.FormatUint(crc64.Checksum(body, nvme), 16) + `"` }

func (s *Store) get(w http.ResponseWriter, r *http.Request, key string) *failure {
	o, exists := s.objects[key]
	if !exists {
		return fail(http.StatusNotFound, "NoSuchKey")
	}
	maps.Copy(w.Header(), o.Header)
	if disposition := r.URL.Query().Get("response-content-disposition"); disposition != "" {
		w.Header().Set("Content-Disposition", disposition)
	}
	if o.Checksum != "" && r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
		w.Header().Set(checksumHeader, o.Checksum)
		w.Header().Set("X-Amz-Checksum-Type", "FULL_OBJECT")
	}
	w.Header().Set("ETag", o.etag)
	w.Header().Set("Last-Modified", o.Modified.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Length", strconv.Itoa(len(o.Data)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(o.Data)
	}
	return nil
}

func (s *Store) begin(w http.ResponseWriter, r *http.Request, key string) *failure {
	id := rand.Text()
	s.uploads[id] = &upload{key, described(r.Header), time.Now(), map[int]part{}}
	return answerXML(w, struct {
		XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
		UploadId string
	}{UploadId: id})
}

func (u *upload) put(w http.ResponseWriter, number string, body []byte) *failure {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > 10_000 {
		return fail(http.StatusBadRequest, "InvalidArgument")
	}
	u.parts[n] = part{body, etag(body)}
	w.Header().Set("ETag", u.parts[n].etag)
	return nil
}

func (s *Store) complete(w http.ResponseWriter, r *http.Request, id string, u *upload, body []byte) *failure {
	var asked struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	if err := xml.Unmarshal(body, &asked); err != nil {
		return fail(http.StatusBadRequest, "MalformedXML")
	}
	if failed := s.taken(r, u.key, s.IgnoresOnComplete); failed != nil {
		return failed
	}
	var data []byte
	for i, p := range asked.Part {
		sent, ok := u.parts[p.PartNumber]
		switch {
		case !ok || strings.Trim(sent.etag, `"`) != strings.Trim(p.ETag, `"`):
			return fail(http.StatusBadRequest, "InvalidPart")
		case i > 0 && p.PartNumber <= asked.Part[i-1].PartNumber:
			return fail(http.StatusBadRequest, "InvalidPartOrder")
		case i < len(asked.Part)-1 && len(sent.data) < 5<<20:
			return fail(http.StatusBadRequest, "EntityTooSmall")
		}
		data = append(data, sent.data...)
	}
	checksum := r.Header.Get(checksumHeader)
	if checksum != "" && checksum != checksumOf(data) {
		return fail(http.StatusBadRequest, "BadDigest")
	}
	s.add(u.key, data, u.header, checksum)
	delete(s.uploads, id)
	return answerXML(w, struct {
		XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
		Bucket  string
		Key     string
		ETag    string
	}{Bucket: s.Bucket, Key: u.key, ETag: s.objects[u.key].etag})
}

// page is the number of keys that an answer to a request has.
func (s *Store) page(asked string) int {
	n, _ := strconv.Atoi(asked)
	return min(cmp.Or(n, 1000), cmp.Or(s.Page, 1000))
}

func (s *Store) list(w http.ResponseWriter, r *http.Request) *failure {
	query := r.URL.Query()
	type contents struct {
		Key, ETag    string
		LastModified string
		Size         int
	}
	answer := struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string
		Contents              []contents
	}{}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if !strings.HasPrefix(key, query.Get("prefix")) || key <= query.Get("continuation-token") {
			continue
		}
		if len(answer.Contents) == s.page(query.Get("max-keys")) {
			answer.IsTruncated = true
			answer.NextContinuationToken = answer.Contents[len(answer.Contents)-1].Key
			break
		}
		o := s.objects[key]
		modified := o.Modified.UTC().Format(time.RFC3339)
		answer.Contents = append(answer.Contents, contents{key, o.etag, modified, len(o.Data)})
	}
	return answerXML(w, answer)
}

func (s *Store) listUploads(w http.ResponseWriter, r *http.Request) *failure {
	query := r.URL.Query()
	type one struct{ Key, UploadId, Initiated string }
	var all []one
	for id, u := range s.uploads {
		all = append(all, one{u.key, id, u.begun.UTC().Format(time.RFC3339)})
	}
	order := func(a, b one) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.UploadId, b.UploadId)) }
	slices.SortFunc(all, order)
	answer := struct {
		XMLName            xml.Name `xml:"ListMultipartUploadsResult"`
		IsTruncated        bool
		NextKeyMarker      string
		NextUploadIdMarker string
		Upload             []one
	}{}
	after := one{Key: query.Get("key-marker"), UploadId: query.Get("upload-id-marker")}
	for _, u := range all {
		if !strings.HasPrefix(u.Key, query.Get("prefix")) || order(u, after) <= 0 {
			continue
		}
		if n := len(answer.Upload); n == s.page(query.Get("max-uploads")) {
			answer.IsTruncated = true
			answer.NextKeyMarker, answer.NextUploadIdMarker = answer.Upload[n-1].Key, answer.Upload[n-1].UploadId
			break
		}
		answer.Upload = append(answer.Upload, u)
	}
	return answerXML(w, answer)
}

const checksumHeader = "X-Amz-Checksum-Crc64nvme"

var nvme = crc64.MakeTable(0x9a6c9329ac4bc9b5)

func checksumOf(data []byte) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, crc64.Checksum(data, nvme)))
}

// intact tells whether a body is the one that its request says.
func intact(h http.Header, body []byte) bool {
	sum := sha256.Sum256(body)
	said := h.Get("X-Amz-Content-Sha256")
	if said != "" && said != "UNSIGNED-PAYLOAD" && said != hex.EncodeToString(sum[:]) {
		return false
	}
	checksum := h.Get(checksumHeader)
	return checksum == "" || len(h.Values("X-Amz-Checksum-Type")) > 0 || checksum == checksumOf(body)
}
