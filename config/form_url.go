package config

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// badRedis refuses what is no URL that a Redis client understands. The parser's own
// error would repeat the password.
func badRedis(text string) *report.Mistake {
	u, err := url.Parse(text)
	ok := err == nil && u.Opaque == ""
	if ok && u.Scheme == "unix" {
		ok = u.Path != ""
	} else if ok {
		db := strings.TrimPrefix(u.Path, "/")
		_, err = strconv.ParseUint(db, 10, 16)
		ok = slices.Contains([]string{"redis", "rediss", "valkey", "valkeys"}, u.Scheme) && u.Host != "" && (db == "" || err == nil)
	}
	return unless(ok, "not the URL of a Redis server", "Write redis://[user:password@]host:port/db, rediss:// for TLS or unix://path; in a password write %40 for @, %2F for / and so on")
}

var (
	dsnNetwork = regexp.MustCompile(`^(tcp|unix)?$|^[A-Za-z0-9_+.-]*\([^()]*\)$`)
	plainZone  = regexp.MustCompile(`^'?([+-][0-9:]{1,6}|[A-Z][A-Za-z_]*(/[A-Za-z_]+)*)'?$`)
)

// badDSN refuses what go-sql-driver/mysql cannot use, and an option that would set the
// time zone of a session.
func badDSN(text string) *report.Mistake {
	_, _, address, ok := splitDSN(text)
	if !ok {
		return &report.Mistake{Message: "not a DSN"}
	}
	_, options, _ := strings.Cut(address[strings.LastIndexByte(address, '/')+1:], "?")
	for option := range strings.SplitSeq(options, "&") {
		name, value, _ := strings.Cut(option, "=")
		plain, err := url.QueryUnescape(value)
		if err != nil || !strings.Contains(strings.ToLower(name+plain), "time_zone") {
			continue
		}
		shown := "time_zone"
		if plainZone.MatchString(plain) { // it can be nothing secret
			shown = name + "=" + plain
		}
		return &report.Mistake{Message: "a DSN with " + shown, Remedy: "Remove it: Fanfold sets the session's time zone to UTC. What DATETIME columns mean is said by time_zone beside the dsn"}
	}
	return nil
}

// splitDSN cuts a DSN where go-sql-driver does: the last / begins the schema, the last @
// before it the address, the first : before that the password.
func splitDSN(dsn string) (user, password, address string, ok bool) {
	slash := strings.LastIndexByte(dsn, '/')
	if slash < 0 {
		return "", "", "", false
	}
	at := strings.LastIndexByte(dsn[:slash], '@')
	if at >= 0 {
		user, password, _ = strings.Cut(dsn[:at], ":")
	}
	return user, password, dsn[at+1:], dsnNetwork.MatchString(dsn[at+1 : slash])
}

var (
	pathForm   = regexp.MustCompile(`^(/[A-Za-z0-9._~!$&'()*+,;=:@%{}-]*)+$`)
	halfEscape = regexp.MustCompile(`%([^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$)`)
	anyBrace   = regexp.MustCompile(`\{[^}]*\}?|\}`)
)

// badURL refuses a URL behind which no path can be put.
func badURL(text string) *report.Mistake {
	u, err := url.Parse(text)
	ok := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Opaque == "" &&
		u.User == nil && u.RawQuery == "" && !u.ForceQuery && !strings.Contains(text, "#") &&
		pathForm.MatchString(u.EscapedPath()+"/") && !dotted(u.EscapedPath())
	return unless(ok, "not the URL of an HTTP server", "")
}

// badPath refuses what is no path of a request.
func badPath(text string) *report.Mistake {
	const form = "Write the path below the API's url, such as /exports/{id}; a value is a whole part of it: /users/:user"
	switch {
	case !pathForm.MatchString(text):
		return &report.Mistake{Message: "not a path", Remedy: form + "; put what comes after a ? into query"}
	case halfEscape.MatchString(text):
		return &report.Mistake{Message: "a % without two hexadecimal digits after it", Remedy: "Write %25 for a %"}
	case dotted(text):
		return &report.Mistake{Message: "a path with a part . or ..", Remedy: form}
	}
	for _, brace := range anyBrace.FindAllString(text, -1) {
		if !report.HTTPBrace.MatchString(brace) {
			return &report.Mistake{Message: "a { or } that is not part of {id} or {key}", Remedy: "Write {id} for the vendor's job, {key} for the idempotency key, or a parameter as a part of its own: /:name"}
		}
	}
	return nil
}

// dotted tells whether a path leads out of itself.
func dotted(path string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(strings.ToLower(path), "%2e", "."), "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}
