package s3

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// roleTimeout bounds a request for the credentials of a role. On a machine without one nothing may answer.
const roleTimeout = 5 * time.Second

// found is the first of the environment, the files and the role that has credentials. To have none is an error: an
// anonymous request cannot write. credentials.Chain drops the errors of its providers, so that an outage of the role
// would look the same. Credentials calls it from one goroutine at a time.
type found struct {
	environment credentials.EnvAWS
	files       *credentials.FileAWSCredentials
	role        *role
	used        credentials.Provider // which gave the last credentials; nil: none
}

// Retrieve implements credentials.Provider.
func (f *found) Retrieve() (credentials.Value, error) {
	return f.RetrieveWithCredContext(&credentials.CredContext{})
}

// RetrieveWithCredContext implements credentials.Provider.
func (f *found) RetrieveWithCredContext(c *credentials.CredContext) (v credentials.Value, err error) {
	var failed []error
	for _, p := range []credentials.Provider{&f.environment, f.files, f.role} {
		v, err = p.RetrieveWithCredContext(c)
		if err == nil && (v.AccessKeyID != "" || v.SecretAccessKey != "") {
			f.used = p
			return some(v, nil)
		}
		if err != nil && !(p == f.files && withoutProfile(err)) {
			failed = append(failed, err)
		}
	}
	return some(credentials.Value{}, errors.Join(failed...))
}

// IsExpired implements credentials.Provider.
func (f *found) IsExpired() bool { return f.used == nil || f.used.IsExpired() }

// withoutProfile tells whether the files have no default profile. The client gives only a text for it.
func withoutProfile(err error) bool {
	return errors.Is(err, fs.ErrNotExist) ||
		os.Getenv("AWS_PROFILE") == "" && err.Error() == `section "default" does not exist`
}

// role is the role of a container, a pod or the machine. Without one it returns nothing and no error.
type role struct {
	credentials.IAM
	given bool // it has given credentials
}

// assigned are the variables by which a container or a pod has a role.
var assigned = []string{
	"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
}

// RetrieveWithCredContext implements credentials.Provider.
func (r *role) RetrieveWithCredContext(c *credentials.CredContext) (credentials.Value, error) {
	known := r.given
	r.Client, r.Endpoint = &http.Client{Timeout: roleTimeout}, os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT")
	for _, variable := range assigned {
		if os.Getenv(variable) != "" {
			known, r.Endpoint = true, ""
		}
	}
	v, err := r.IAM.RetrieveWithCredContext(c)
	switch {
	case err == nil:
		r.given = true
	case c.Context != nil && c.Context.Err() != nil: // the caller gave up
	case !known && !isOutage(err):
		return credentials.Value{}, nil
	}
	if err != nil {
		return credentials.Value{}, fmt.Errorf("credentials of the role: %w", err)
	}
	return v, nil
}

// isOutage tells whether the metadata service of the machine exists and is in trouble. The client gives only the text
// of its status. Where nothing answers, or with another status, the machine has no role.
func isOutage(err error) bool {
	_, silent := errors.AsType[*url.Error](err)
	return !silent && (strings.HasPrefix(err.Error(), "5") || strings.HasPrefix(err.Error(), "429 "))
}
