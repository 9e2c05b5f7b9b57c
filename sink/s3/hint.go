package s3

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/fanfold/fanfold/sink"
)

// Hint says what a person does about an error of Check; empty: the error says it, or its cause is not known.
func (s *Sink) Hint(err error) string {
	_, unknownHost := errors.AsType[*net.DNSError](err)
	switch {
	case code(err) == minio.NoSuchBucket:
		return "there is no bucket " + s.bucket + ": create it, or correct the sink"
	case code(err) == minio.InvalidAccessKeyID:
		return "correct " + s.keys.access + ", or set sink.endpoint if it is of another store"
	case code(err) == minio.SignatureDoesNotMatch:
		return "correct " + s.keys.secret
	case code(err) == minio.AccessDenied:
		return "grant the account of " + s.keys.access + " the permissions in docs/guides/s3.md on the " +
			"bucket " + s.bucket + ", or correct the bucket"
	case unknownHost && s.endpoint == "":
		return "set sink.endpoint if this is not Amazon, and otherwise check the DNS of this machine"
	case unknownHost:
		return "correct the host in sink.endpoint, or check the DNS of this machine"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "this port has no TLS: write http:// in sink.endpoint"
	case strings.HasPrefix(s.endpoint, "http://") && wantsTLS(err):
		return "write https:// in sink.endpoint if this port has TLS"
	}
	return ""
}

// wantsTLS tells whether a request without TLS may have met a port with it. Servers answer it with 400 and no error of
// S3, or with an alert of TLS, which is no HTTP.
func wantsTLS(err error) bool {
	answer, _ := errors.AsType[minio.ErrorResponse](err)
	request, _ := errors.AsType[*url.Error](err)
	return answer.StatusCode == http.StatusBadRequest && strings.HasPrefix(answer.Code, "400 ") ||
		request != nil && strings.Contains(request.Err.Error(), `malformed HTTP response "\x15\x03`)
}

// keys are the settings that give an access key and its secret, for people.
type keys struct{ access, secret string }

// keysOf returns where credentialsOf finds them.
func keysOf(o Options) keys {
	switch {
	case o.AccessKey != "" || o.SecretKey != "":
		return keys{"sink.access_key", "sink.secret_key"}
	case o.Profile != "":
		of := " in the profile " + o.Profile
		return keys{"aws_access_key_id" + of, "aws_secret_access_key" + of}
	}
	if access, secret := environment(); access != "" && secret != "" {
		return keys{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
	}
	return keys{"the access key in the credentials file or role", "the secret key in the credentials file or role"}
}

// environment returns the credentials of the environment.
func environment() (access, secret string) {
	return cmp.Or(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_ACCESS_KEY")),
		cmp.Or(os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SECRET_KEY"))
}

// sameCause tells whether two failed requests failed for one reason, so that a person needs to read only one.
func sameCause(a, b error) bool {
	one, _ := errors.AsType[*url.Error](a)
	other, _ := errors.AsType[*url.Error](b)
	if one != nil && other != nil {
		return one.Err.Error() == other.Err.Error()
	}
	return code(a) != "" && final(a) && final(b) || errors.Is(a, sink.ErrUnfit) && errors.Is(b, sink.ErrUnfit)
}
