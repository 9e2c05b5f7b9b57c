package config

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

const apiForm = "Write https://host[:port][/path], without user, query and #"

// largestAnswer bounds max_bytes of an API.
const largestAnswer = 64 << 30

// apis decodes the APIs. A name of a database is none for an API: listeners share the
// limits and the story of a source by its name.
func (f fields) apis(databases map[string]Database) map[string]API {
	apis := map[string]API{}
	entries, _ := f.get("apis").entries()
	for _, e := range entries {
		api := e.value.api(e.name)
		_, taken := databases[e.name]
		switch {
		case !databaseName.MatchString(e.name):
			e.value.hidden().problem("an API's name that is not allowed", "Use up to 64 letters, digits, _ and -")
		case taken:
			e.value.hidden().problem("an API with the name of a database", "Give it another name")
		default:
			apis[e.name] = api
		}
	}
	return apis
}

func (p setting) api(name string) API {
	f := p.fields("url", "headers", "timeout", "max_bytes", "redirects", "idempotency", "parallel", "rate")
	api := API{
		Name:      name,
		Headers:   f.get("headers").headers(),
		Timeout:   f.get("timeout").duration(30 * time.Second),
		MaxBytes:  f.get("max_bytes").size(64<<20, 1, largestAnswer),
		Redirects: f.get("redirects").integer(0, 0, 20),
		Bound:     f.bound(),
	}
	if at := f.get("idempotency"); at.given() {
		name, ok := at.name(headerName, "the name of a header", "Write the header by which the API tells a repetition, such as Idempotency-Key, or none")
		if sameHeader(api.Headers, name) {
			at.problem("a header that is in headers, too", "Remove it there: each job has its own key")
		} else if wrong, remedy := badHeader(name, ""); ok && wrong != "" {
			at.problem(wrong, remedy)
		}
		api.Idempotency = name
	}
	if at, ok := f.need("url", apiForm); ok {
		at = at.hidden() // somebody may have put a password into it
		if text, ok := at.text(); ok && !apiURL(text) {
			at.problem("not the URL of an API", apiForm)
		} else if ok {
			api.URL = strings.TrimRight(text, "/")
		}
	}
	return api
}

// apiURL tells whether paths can be put behind a URL.
func apiURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Opaque == "" &&
		u.User == nil && u.RawQuery == "" && !u.ForceQuery && !strings.Contains(text, "#") && httpPath.MatchString(u.EscapedPath()+"/") &&
		!dotted(u.EscapedPath())
}

// headers decodes headers, whose values are secret.
func (p setting) headers() map[string]report.Secret {
	headers := map[string]report.Secret{}
	entries, _ := p.hidden().entries()
	for _, e := range entries {
		at := e.value.hidden()
		if !headerName.MatchString(e.name) {
			at.path = p.path // the name may be a piece of a secret
			at.problem("a header's name that is not allowed", "Use letters, digits and -")
			continue
		}
		var value string
		var ok bool
		if at.is(yaml.MappingNode) {
			file, given := at.fields("file").need("file", "Name the file that holds the value")
			if !given {
				continue
			}
			value, ok = file.nameOfFile().content()
		} else {
			value, ok = at.text()
		}
		if !ok {
			continue
		}
		if strings.TrimSpace(value) == "" {
			at.problem("nothing but an empty value for "+e.name, "Write the value, set the variable that it comes from, or remove the header")
			continue
		}
		if wrong, remedy := badHeader(e.name, value); wrong != "" {
			at.problem(wrong, remedy)
			continue
		}
		if sameHeader(headers, e.name) {
			at.problem("a header that is there in another way of writing", "Keep one: the names of headers are the same in capitals and small letters")
			continue
		}
		headers[e.name] = report.Secret(value)
	}
	return headers
}

// plainPath is what no secret looks like.
var plainPath = regexp.MustCompile(`^(\.{0,2}/[A-Za-z0-9._/-]{1,200}|[A-Za-z0-9._/-]{1,100}\.[a-z]{2,5})$`)

// nameOfFile hides a name that may be the secret itself.
func (p setting) nameOfFile() setting {
	if p.node != nil {
		p.secret = !plainPath.MatchString(p.node.Value)
	}
	return p
}

// sameHeader tells whether headers have one of that name.
func sameHeader(headers map[string]report.Secret, name string) bool {
	for other := range headers {
		if strings.EqualFold(other, name) {
			return true
		}
	}
	return false
}

// badHeader says why a header cannot be sent with each request.
func badHeader(name, value string) (wrong, remedy string) {
	switch strings.ToLower(name) {
	case "content-length", "transfer-encoding", "content-type", "accept-encoding", "connection":
		return name + " is there by itself", "Remove it"
	case "host", "trailer", "te", "upgrade":
		return name + ", which is not sent as it is written here", "Remove it; the host is in the url"
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return "a control character in the value of " + name, "Remove it; a line break at the end of a variable is one, too"
	}
	return "", ""
}
