package s3

import (
	"context"
	"os"
	"regexp"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// Kind is a bucket of Amazon S3 or of a compatible store: s3://bucket/prefix.
var Kind = sink.Kind{
	SinkKind: report.SinkKind{
		Scheme: "s3", Form: "s3://bucket/prefix",
		Notes: []string{
			"The bucket must exist. For a store that is not Amazon S3, name its address:",
			"  sink: {url: s3://bucket/prefix, endpoint: https://minio.example:9000}",
			"Without access_key and secret_key there, the environment variables AWS_ACCESS_KEY_ID and",
			"AWS_SECRET_ACCESS_KEY have the credentials.",
		},
		Fields: func() any { return new(Options) },
		Parse: func(text string) (report.SinkURL, string) {
			bucket, prefix, wrong := parse(text)
			return report.SinkURL(strings.TrimRight("s3://"+bucket+"/"+prefix, "/")), wrong
		},
		Check: check,
	},
	Open: func(_ context.Context, s report.Sink) (sink.Sink, error) {
		own, _ := s.Options.(*Options)
		if own == nil {
			own = new(Options)
		}
		return New(s.URL, *own)
	},
}

// Options are the own fields of the kind.
type Options struct {
	// Store that is not Amazon S3, such as `https://minio.example:9000`
	Endpoint string `yaml:"endpoint" form:"url" unset:"Amazon S3"`
	// Region of the bucket
	Region string `yaml:"region" unset:"AWS_REGION; else Amazon S3 is asked, and others get us-east-1"`
	// Where requests name the bucket: in the path, or in the host
	Addressing string `yaml:"addressing" enum:"auto,path,host" default:"auto"`
	// Access key. Without it, the usual places are searched
	AccessKey report.Secret `yaml:"access_key" unset:"environment, files or role"`
	// Secret of the access key
	SecretKey report.Secret `yaml:"secret_key"`
	// Profile in the files of the AWS command line
	Profile string `yaml:"profile"`
	// Size of a part, which is also the maximum memory of a file that is written. A file has at most 10,000 parts
	PartSize int64 `yaml:"part_size" unit:"bytes" default:"8MB" min:"5MB" max:"1GB"`
}

var bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

func parse(text string) (bucket, prefix, wrong string) {
	return sink.ParseBucket(text, "s3", bucketForm)
}

// check warns about credentials of which only one part counts.
func check(s *report.Sink) *report.Mistake {
	own := s.Options.(*Options)
	switch {
	case (own.AccessKey == "") != (own.SecretKey == ""):
		return &report.Mistake{Message: "access_key and secret_key need each other", Remedy: "Write both or none"}
	case own.AccessKey != "" && own.Profile != "":
		return &report.Mistake{Message: "profile has no effect beside access_key", Remedy: "Remove one of them"}
	}
	return nil
}

// credentialsOf returns where requests get their credentials.
func credentialsOf(o Options) *credentials.Credentials {
	files := &credentials.FileAWSCredentials{Profile: o.Profile}
	switch {
	case o.AccessKey != "" || o.SecretKey != "":
		return credentials.NewStaticV4(o.AccessKey.Reveal(), o.SecretKey.Reveal(), "")
	case o.Profile != "":
		return credentials.New(files)
	}
	return credentials.New(&found{files: files, role: &role{}})
}

var errNoCredentials = sink.Failure("no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the "+
	"sink's access_key and secret_key or profile, or give the machine a role", sink.ErrRefused,
	sink.ErrUnfit)

// some refuses what cannot sign a request. The client would send it without a signature.
func some(v credentials.Value, err error) (credentials.Value, error) {
	switch {
	case err != nil:
	case v.AccessKeyID == "" && v.SecretAccessKey == "":
		err = errNoCredentials
	case v.SecretAccessKey == "":
		err = missing("secret key", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID")
	case v.AccessKeyID == "":
		err = missing("access key", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
	}
	return v, err
}

// missing is the error of credentials of which only one part was found.
func missing(what, variable, found string) error {
	return sink.Failure("the credentials have no "+what+": set "+variable+", or remove "+found,
		sink.ErrRefused, sink.ErrUnfit)
}

// regionOf returns the region of the requests; empty: the client asks Amazon S3 for it.
func regionOf(o Options) string {
	for _, region := range []string{o.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")} {
		if region != "" {
			return region
		}
	}
	if o.Endpoint != "" {
		return "us-east-1"
	}
	return ""
}

var lookups = map[string]minio.BucketLookupType{"path": minio.BucketLookupPath, "host": minio.BucketLookupDNS}
