package config

import (
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// check proves what the fields mean together, and makes the Config of them.
func (f *file) check() *Config {
	c := &Config{
		Redis: f.Redis, Databases: map[string]Database{}, APIs: map[string]API{}, Sink: f.Sink, Limits: f.Limits, Keys: f.Keys.check(),
		Admin: f.Admin, AdminPublic: f.AdminPublic, Reports: map[string]*report.Report{},
	}
	if host, _, err := net.SplitHostPort(c.Admin); err == nil && !c.AdminPublic {
		if ip := net.ParseIP(host); host == "" || ip != nil && !ip.IsLoopback() {
			f.Get("admin").Problem("other machines can reach this address, and the server has no login", "Listen on 127.0.0.1, or set admin_public: true if a firewall protects it")
		}
	}
	for _, d := range f.Databases {
		c.Databases[d.Name] = d.check()
	}
	for _, a := range f.APIs {
		if _, taken := c.Databases[a.Name]; taken {
			a.Problem("an API with the name of a database", "Give it another name")
		} else {
			c.APIs[a.Name] = a.check()
		}
	}
	c.Records = f.Records.check(c)
	readers := map[string]*draftListener{}
	for i := range f.Reports {
		r := f.Reports[i].check(c, readers)
		c.Reports[r.Name] = r
	}
	f.Records.checkPartial(c)
	for i := range f.Timers {
		c.Timers = append(c.Timers, f.Timers[i].check(c, f.Timers[:i]))
	}
	c.Timers = c.Timers.Sorted()
	return c
}

// check proves that a job's hash and a key that all jobs share cannot have one name.
func (k keyFields) check() report.Keys {
	if !k.Wrong("prefix") && !k.Wrong("hash") && (strings.HasPrefix(k.Prefix, k.Hash) || strings.HasPrefix(k.Hash, k.Prefix)) {
		d := report.DefaultKeys
		k.First("hash", "prefix").Problem("one of prefix and hash begins with the other", "Choose two that begin differently; the defaults are "+d.Prefix+" and "+d.Hash)
	}
	return report.Keys{Prefix: k.Prefix, Hash: k.Hash}
}

// check puts the password into the DSN.
func (d databaseFields) check() Database {
	file, dsn := d.Get("password_file").Hidden(), d.First("dsn", "dsn_file").Hidden()
	if !file.Given() || d.DSN == "" {
		return d.Database
	}
	const remedy = "Write user@tcp(host:port)/schema"
	switch user, password, address, _ := splitDSN(d.DSN.Reveal()); {
	case d.Get("dsn_file").Given():
		file.Problem("both dsn_file and password_file", "Put the password into the DSN's file, or give the DSN in dsn")
	case user == "":
		dsn.Problem("a DSN without user, for the password in password_file", remedy)
	case password != "":
		dsn.Problem("a DSN with a password, and a password_file", remedy+", or remove password_file")
	default:
		d.DSN = report.Secret(user + ":" + string(d.PasswordFile) + "@" + address)
	}
	return d.Database
}

// check proves that the headers can be sent with every request.
func (a apiFields) check() API {
	a.URL, a.API.Headers = strings.TrimRight(a.URL, "/"), map[string]report.Secret{}
	for _, h := range a.Headers {
		at, value := h.Hidden(), string(h.Value)
		if h.Has("file") {
			at, value = h.Get("file").Hidden(), string(h.File)
		}
		wrong := badHeader(h.Name, value, apiHeaders)
		switch {
		case !h.Readable() || h.Wrong("") || h.Wrong("file"):
		case strings.TrimSpace(value) == "":
			at.Problem("empty", "Write the value of "+h.Name+", set the variable that it comes from, or remove the header")
		case wrong != nil:
			at.Problem(wrong.Message, wrong.Remedy)
		case hasHeader(a.API.Headers, h.Name):
			at.Problem("a header given twice", "Keep one: capital and small letters are the same in the names of headers")
		default:
			a.API.Headers[h.Name] = report.Secret(value)
		}
	}
	at := a.Get("idempotency")
	if wrong := badHeader(a.Idempotency, "", apiHeaders); hasHeader(a.API.Headers, a.Idempotency) {
		at.Problem("a header that is in headers, too", "Remove it there: each job has its own key")
	} else if wrong != nil {
		at.Problem(wrong.Message, wrong.Remedy)
	}
	return a.API
}

// hasHeader tells whether headers have one of that name.
func hasHeader(headers map[string]report.Secret, name string) bool {
	return slices.ContainsFunc(sortedKeys(headers), func(other string) bool { return strings.EqualFold(other, name) })
}

// apiHeaders are those of requests to an API that Fanfold sets itself.
var apiHeaders = []string{"content-length", "transfer-encoding", "content-type", "accept-encoding", "connection", "te", "upgrade"}

// badHeader refuses a header that is not sent as it is written, such as one of own.
func badHeader(name, value string, own []string) *report.Mistake {
	switch lower := strings.ToLower(name); {
	case slices.Contains(own, lower):
		return &report.Mistake{Message: "Fanfold sets " + name + " itself", Remedy: "Remove it"}
	case lower == "host" || lower == "trailer":
		return &report.Mistake{Message: name + " is not sent as it is written here", Remedy: "Remove it; the host is in the url"}
	}
	control := strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
	return unless(!control, "a control character in the value of "+name, "Remove it; a line break at the end of a variable is one, too")
}

// refer proves that a field names something that exists.
func refer(s decode.Section, field, name, what string, known []string) bool {
	if at := s.Get(field); !at.Given() {
		s.Missing(field, "Name one of "+what+": "+report.Listing(known))
	} else if !s.Wrong(field) && !slices.Contains(known, name) && len(known) > 0 { // without any, that has been said
		at.Problem("no such "+strings.TrimSuffix(what, "s"), decode.DidYouMean(name, known))
	} else {
		return true
	}
	return false
}

// sortedKeys is for messages and loops that must not depend on a map's order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
