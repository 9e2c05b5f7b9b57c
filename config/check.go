package config

import (
	"maps"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
)

// checker validates fields that depend on one another, and builds the Config.
type checker struct {
	*decode.Reader
	kinds   Kinds
	f       *file
	config  *Config
	readers map[string]*draftListener // the first listener of each name, in any report
}

func check(r *decode.Reader, kinds Kinds, f *file) *Config {
	c := &Config{
		Databases: map[string]report.Database{}, APIs: map[string]report.API{}, Sources: map[string]report.Source{},
		Records: f.Records, Sink: f.Sink, Spool: f.Spool, Limits: f.Limits, Keys: f.Keys,
		Admin: f.Admin, HTTP: f.HTTP, Reports: map[string]*report.Report{},
	}
	k := &checker{Reader: r, kinds: kinds, f: f, config: c, readers: map[string]*draftListener{}}
	k.checkRedis()
	k.checkKeys()
	if host, _, err := net.SplitHostPort(c.Admin.Listen); err == nil && !c.Admin.Public {
		if ip := net.ParseIP(host); !c.HTTP.HasLogin() && (host == "" || ip != nil && !ip.IsLoopback()) {
			k.Of(&f.Admin).Get("listen").Problem("other machines can reach this address, and the server has no login",
				"Listen on 127.0.0.1, add http.users_file, or set admin: {public: true} if a firewall protects it")
		}
	}
	k.checkSite()
	k.checkSinks()
	if f.Traces.Traces.Headers = k.headers(f.Traces.Headers); f.Traces.URL != "" {
		c.Traces = f.Traces.Traces
		c.Traces.URL = strings.TrimRight(c.Traces.URL, "/")
	}
	for i := range f.Databases {
		k.checkDatabase(&f.Databases[i])
		d := f.Databases[i].Database
		of, _ := k.kinds.Sources.Of(d.Kind)
		c.Databases[d.Name] = d
		for _, s := range d.Servers() {
			c.Sources[s.Name] = report.Source{Words: of.Words, TimeZone: s.TimeZone, MaxTasks: s.MaxConnections,
				Timed: true, Protect: s.Protect, Bound: s.Bound}
		}
	}
	for i := range f.APIs {
		a := &f.APIs[i]
		if n := slices.IndexFunc(f.Databases, func(d databaseFields) bool { return d.Name == a.Name }); n >= 0 {
			s, of := k.Of(a), k.Of(&f.Databases[n])
			s.Problem("a database has the same name, "+s.PlaceOf(of.Setting), "Rename the API")
		} else {
			of := k.checkAPI(a)
			c.APIs[a.Name] = a.API
			c.Sources[a.Name] = report.Source{Words: of.Words, Bound: a.Bound}
		}
	}
	k.checkRecords()
	for i := range f.Reports {
		r := k.report(&f.Reports[i])
		c.Reports[r.Name] = r
	}
	k.checkPartial()
	checkLanes(k)
	checkGroups(k)
	checkTasks(c, k.Of(&f.Limits).Get("tasks"))
	for i := range f.Timers {
		k.checkTimer(i)
		c.Timers = append(c.Timers, &f.Timers[i])
	}
	c.Timers = c.Timers.Sorted()
	return c
}

// checkKeys proves that a job's hash, a shared key and a stream of a service cannot have the same name.
func (k *checker) checkKeys() {
	keys, s, d := k.f.Keys, k.Of(&k.f.Keys), report.DefaultKeys
	for _, two := range [][2]struct{ name, prefix string }{
		{{"hash", keys.Hash}, {"prefix", keys.Prefix}}, {{"replies", keys.Replies}, {"prefix", keys.Prefix}},
		{{"replies", keys.Replies}, {"hash", keys.Hash}},
	} {
		a, b := two[0], two[1]
		if !s.Wrong(a.name, b.name) && (strings.HasPrefix(a.prefix, b.prefix) ||
			strings.HasPrefix(b.prefix, a.prefix)) {
			s.First(a.name, b.name).Problem("one of "+b.name+" and "+a.name+" begins with the other",
				"Choose prefixes that begin differently; the defaults are "+d.Prefix+", "+d.Hash+" and "+d.Replies)
			return
		}
	}
}

// checkSinks requires a sink, and warns of a spool that has its files.
func (k *checker) checkSinks() {
	sink, spool := k.Of(&k.f.Sink), k.Of(&k.f.Spool)
	if !sink.Given() {
		k.Of(k.f).Missing("sink", k.kinds.sinkRemedy())
	}
	k.kinds.checkSink(sink, &k.f.Sink)
	k.kinds.checkSink(spool, &k.f.Spool.Sink)
	of, in := k.f.Sink, k.f.Spool.Sink
	if sink.Has("url") && spool.Has("url") && strings.HasPrefix(string(of.URL)+"/", string(in.URL)+"/") &&
		reflect.DeepEqual(of.Options, in.Options) {
		spool.Get("url").Warn("the files of reports lie there, too: a lifecycle rule for the spool would delete them",
			"Choose another prefix or directory")
	}
}

// checkSink requires the URL of a sink or spool, and asks its kind about the rest.
func (k Kinds) checkSink(s decode.Section, of *report.Sink) {
	if s.Given() && !s.Get("url").Given() {
		s.Missing("url", k.sinkRemedy())
	}
	for _, kind := range k.Sinks {
		if kind.Scheme != of.URL.Scheme() || kind.Check == nil || !s.Has("url") {
			continue
		}
		if warning := kind.Check(of); warning != nil {
			s.Get("url").Warn(warning.Message, warning.Remedy)
		}
	}
}

// minKey is the minimum length of a secret that cannot be guessed.
const minKey = 32

// checkSite validates the key that seals links, the users, the tokens and the groups.
func (k *checker) checkSite() {
	site, s := &k.config.HTTP, k.Of(&k.f.HTTP)
	at := s.First("link_secret", "link_secret_file").Hidden()
	if at.Given() && !s.Wrong("link_secret", "link_secret_file") && len(site.LinkSecret) < minKey {
		at.Problem("the secret is shorter than 32 characters",
			"Use at least 32 random characters, such as the output of openssl rand -base64 32")
	}
	if len(site.FrameAncestors) > 0 && !at.Given() {
		s.Get("frame_ancestors").Problem("only pages behind links are shown in frames, and there is no secret for links",
			"Add link_secret_file, or remove frame_ancestors")
	}
	site.URL = strings.TrimRight(site.URL, "/")
	for _, text := range site.TrustedHeader.Proxies {
		if network, err := netip.ParsePrefix(text); err == nil && network.Bits() == 0 {
			k.Of(&k.f.HTTP.TrustedHeader).Get("proxies").Warn(text+
				" is every address: everyone who reaches the server can write the header",
				"Write the addresses of the proxies")
		}
	}
	if tokens := s.First("tokens", "tokens_file").Hidden(); tokens.Given() && !s.Wrong("tokens", "tokens_file") {
		if _, err := report.ParseTokens(site.Tokens.Reveal()); err != nil {
			tokens.Problem(err.Error(), "Create each line with fanfold user token SERVICE")
		}
	}
	if users := s.First("users", "users_file").Hidden(); users.Given() && !s.Wrong("users", "users_file") {
		if _, err := report.ParseUsers(site.Users.Reveal()); err != nil {
			users.Problem(err.Error(), "Create each line with fanfold user hash USER")
		}
	}
}

// headers reads headers, and proves that every request can be sent with them.
func (k *checker) headers(fields []headerFields) map[string]report.Secret {
	headers := map[string]report.Secret{}
	for i := range fields {
		h := fields[i]
		s := k.Of(&fields[i])
		at, value := s.Hidden(), string(h.Value)
		if s.Has("file") {
			at, value = s.Get("file").Hidden(), string(h.File)
		}
		wrong := report.CheckHeader(h.Name, value, apiHeaders)
		switch {
		case !s.Readable() || s.Wrong("") || s.Wrong("file"):
		case strings.TrimSpace(value) == "":
			at.Problem("empty", "Set the value of "+h.Name+" or the variable that it uses, or remove the header")
		case wrong != nil:
			at.Problem(wrong.Message, wrong.Remedy)
		case hasHeader(headers, h.Name):
			at.Problem("the header is set twice", "Remove one: header names are case-insensitive")
		default:
			headers[h.Name] = report.Secret(value)
		}
	}
	return headers
}

// checkAPI validates the fields of an API that depend on one another, and returns its kind.
func (k *checker) checkAPI(a *apiFields) kind.Source {
	of, ok := k.kinds.Sources.OfAPIs()
	if !ok {
		k.Of(a).Problem("this program reads no APIs", "Remove it")
	}
	a.Kind, a.URL, a.API.Headers = of.Name, strings.TrimRight(a.URL, "/"), k.headers(a.Headers)
	at := k.Of(a).Get("idempotency")
	if wrong := report.CheckHeader(a.Idempotency, "", apiHeaders); hasHeader(a.API.Headers, a.Idempotency) {
		at.Problem("headers sets this header, too", "Remove it from headers: every job has its own key")
	} else if wrong != nil {
		at.Problem(wrong.Message, wrong.Remedy)
	}
	return of
}

// hasHeader reports whether headers contain a name, in any case.
func hasHeader(headers map[string]report.Secret, name string) bool {
	return slices.ContainsFunc(sortedKeys(headers), func(other string) bool { return strings.EqualFold(other, name) })
}

// apiHeaders are the headers that Fanfold sets on requests to an API.
var apiHeaders = []string{"content-length", "transfer-encoding", "content-type", "accept-encoding", "connection",
	"te", "upgrade"}

// sortedKeys makes messages and loops independent of the order of a map.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
