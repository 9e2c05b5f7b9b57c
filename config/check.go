package config

import (
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// checker proves what the fields of a file mean together, and makes the Config of them.
type checker struct {
	*decode.Reader
	f       *file
	config  *Config
	readers map[string]*draftListener // the first listener of each name, in any report
}

func check(r *decode.Reader, f *file) *Config {
	c := &Config{
		Databases: map[string]report.Database{}, APIs: map[string]report.API{}, Records: f.Records, Sink: f.Sink, Limits: f.Limits, Keys: f.Keys,
		Admin: f.Admin, AdminPublic: f.AdminPublic, HTTP: f.HTTP, Reports: map[string]*report.Report{},
	}
	k := &checker{Reader: r, f: f, config: c, readers: map[string]*draftListener{}}
	k.checkRedis()
	k.checkKeys()
	if host, _, err := net.SplitHostPort(c.Admin); err == nil && !c.AdminPublic {
		if ip := net.ParseIP(host); !c.HTTP.HasLogin() && (host == "" || ip != nil && !ip.IsLoopback()) {
			k.Of(f).Get("admin").Problem("other machines can reach this address, and the server has no login", "Listen on 127.0.0.1, add http.users_file, or set admin_public: true if a firewall protects it")
		}
	}
	k.checkSite()
	if f.Traces.Traces.Headers = k.headers(f.Traces.Headers); f.Traces.URL != "" {
		c.Traces = f.Traces.Traces
		c.Traces.URL = strings.TrimRight(c.Traces.URL, "/")
	}
	for i := range f.Databases {
		k.addPassword(&f.Databases[i])
		k.checkDatabaseTLS(&f.Databases[i])
		c.Databases[f.Databases[i].Name] = f.Databases[i].Database
	}
	for i := range f.APIs {
		a := &f.APIs[i]
		if _, taken := c.Databases[a.Name]; taken {
			k.Of(a).Problem("an API with the name of a database", "Give it another name")
		} else {
			k.checkAPI(a)
			c.APIs[a.Name] = a.API
		}
	}
	k.checkRecords()
	for i := range f.Reports {
		r := k.report(&f.Reports[i])
		c.Reports[r.Name] = r
	}
	k.checkPartial()
	for i := range f.Timers {
		k.checkTimer(i)
		c.Timers = append(c.Timers, &f.Timers[i])
	}
	c.Timers = c.Timers.Sorted()
	return c
}

// checkKeys proves that a job's hash and a key that all jobs share cannot have one name.
func (k *checker) checkKeys() {
	keys, s := k.f.Keys, k.Of(&k.f.Keys)
	if !s.Wrong("prefix") && !s.Wrong("hash") && (strings.HasPrefix(keys.Prefix, keys.Hash) || strings.HasPrefix(keys.Hash, keys.Prefix)) {
		d := report.DefaultKeys
		s.First("hash", "prefix").Problem("one of prefix and hash begins with the other", "Choose two that begin differently; the defaults are "+d.Prefix+" and "+d.Hash)
	}
}

// minKey is how long a secret is that nobody guesses.
const minKey = 32

// checkSite proves that links are sealed with a secret, and who may do what.
func (k *checker) checkSite() {
	site, s := &k.config.HTTP, k.Of(&k.f.HTTP)
	at := s.First("key", "key_file").Hidden()
	if at.Given() && !s.Wrong("key", "key_file") && len(site.Key) < minKey {
		at.Problem("a key that can be guessed", "Write 32 characters or more, such as openssl rand -base64 32 makes them")
	}
	site.URL = strings.TrimRight(site.URL, "/")
	if users := s.First("users", "users_file").Hidden(); users.Given() && !s.Wrong("users", "users_file") {
		known, err := report.ParseUsers(site.Users.Reveal())
		if err != nil {
			users.Problem(err.Error(), "Write a line for each user with htpasswd -B")
		}
		for _, name := range site.Operators {
			if err == nil && site.TrustedHeader.Name == "" && known[name] == "" {
				s.Get("operators").Problem(name+" is none of the users", "Correct the name, or add the user")
			}
		}
	}
	if len(site.Operators) > 0 && !site.HasLogin() && !s.Get("users").Given() && !s.Get("users_file").Given() {
		s.Get("operators").Problem("operators without a login", "Add users_file or trusted_header")
	}
}

// addPassword puts the password into the DSN.
func (k *checker) addPassword(d *databaseFields) {
	s := k.Of(d)
	file, dsn := s.Get("password_file").Hidden(), s.First("dsn", "dsn_file").Hidden()
	if !file.Given() || d.DSN == "" {
		return
	}
	const remedy = "Write user@tcp(host:port)/schema"
	switch user, password, address, _ := splitDSN(d.DSN.Reveal()); {
	case s.Get("dsn_file").Given():
		file.Problem("both dsn_file and password_file", "Put the password into the DSN's file, or give the DSN in dsn")
	case user == "":
		dsn.Problem("a DSN without user, for the password in password_file", remedy)
	case password != "":
		dsn.Problem("a DSN with a password, and a password_file", remedy+", or remove password_file")
	default:
		d.DSN = report.Secret(user + ":" + string(d.PasswordFile) + "@" + address)
	}
}

// headers proves that headers can be sent with every request.
func (k *checker) headers(fields []headerFields) map[string]report.Secret {
	headers := map[string]report.Secret{}
	for i := range fields {
		h := fields[i]
		s := k.Of(&fields[i])
		at, value := s.Hidden(), string(h.Value)
		if s.Has("file") {
			at, value = s.Get("file").Hidden(), string(h.File)
		}
		wrong := badHeader(h.Name, value, apiHeaders)
		switch {
		case !s.Readable() || s.Wrong("") || s.Wrong("file"):
		case strings.TrimSpace(value) == "":
			at.Problem("empty", "Write the value of "+h.Name+", set the variable that it comes from, or remove the header")
		case wrong != nil:
			at.Problem(wrong.Message, wrong.Remedy)
		case hasHeader(headers, h.Name):
			at.Problem("a header given twice", "Keep one: capital and small letters are the same in the names of headers")
		default:
			headers[h.Name] = report.Secret(value)
		}
	}
	return headers
}

// checkAPI proves what the fields of an API mean together.
func (k *checker) checkAPI(a *apiFields) {
	a.URL, a.API.Headers = strings.TrimRight(a.URL, "/"), k.headers(a.Headers)
	at := k.Of(a).Get("idempotency")
	if wrong := badHeader(a.Idempotency, "", apiHeaders); hasHeader(a.API.Headers, a.Idempotency) {
		at.Problem("a header that is in headers, too", "Remove it there: each job has its own key")
	} else if wrong != nil {
		at.Problem(wrong.Message, wrong.Remedy)
	}
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
		at.Problem("no such "+strings.TrimSuffix(what, "s"), report.DidYouMean(name, known))
	} else {
		return true
	}
	return false
}

// sortedKeys is for messages and loops that must not depend on a map's order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
