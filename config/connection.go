package config

import (
	"errors"
	"io/fs"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
)

var (
	databaseName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)
	dsnNetwork   = regexp.MustCompile(`^(tcp|unix)?$|^[A-Za-z0-9_+.-]*\([^()]*\)$`)
	plainZone    = regexp.MustCompile(`^'?([+-][0-9:]{1,6}|[A-Z][A-Za-z_]*(/[A-Za-z_]+)*)'?$`)
)

const (
	redisForm = "Write redis://[user:password@]host:port/db, rediss:// for TLS or unix://path; in a password write %40 for @, %2F for / and so on"
	dsnForm   = "Write user:password@tcp(host:port)/schema"
)

func (f fields) redis() report.Secret {
	text, at, ok := f.secret("redis", "redis_file", redisForm)
	if ok && !redisURL(text) {
		at.problem("not the URL of a Redis server", redisForm)
	}
	return report.Secret(text)
}

// redisURL tells whether this is a URL that a Redis client understands. The
// parser's own error would repeat the password.
func redisURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return false
	}
	if u.Scheme == "unix" {
		return u.Path != ""
	}
	db := strings.TrimPrefix(u.Path, "/")
	_, err = strconv.ParseUint(db, 10, 16)
	return (u.Scheme == "redis" || u.Scheme == "rediss") && u.Host != "" && (db == "" || err == nil)
}

func (f fields) databases() map[string]Database {
	databases := map[string]Database{}
	at, ok := f.need("databases", "Add the database of the records, and those that listeners query")
	if !ok {
		return databases
	}
	at = at.hidden()
	entries, ok := at.entries()
	if ok && len(entries) == 0 {
		at.problem("no database", "Add the database of the records, and those that listeners query")
	}
	for _, e := range entries {
		if !databaseName.MatchString(e.name) {
			e.value.path = at.path // the name may be a piece of a DSN
			e.value.hidden().problem("a database's name that is not allowed", "Use up to 64 letters, digits, _ and -")
		}
		if db := e.value.hidden().database(e.name); databaseName.MatchString(e.name) {
			databases[e.name] = db
		}
	}
	return databases
}

func (p setting) database(name string) Database {
	f := p.fields("dsn", "dsn_file", "password_file", "max_connections", "time_zone", "parallel", "rate")
	db := Database{Name: name, MaxConnections: f.get("max_connections").integer(10, 1, 10_000), Bound: f.bound()}
	if zone := f.get("time_zone"); zone.given() {
		db.TimeZone = zone.timeZone().String()
	}
	text, at, ok := f.secret("dsn", "dsn_file", dsnForm)
	if !ok {
		return db
	}
	user, password, address, ok := splitDSN(text)
	if !ok {
		at.problem("not a DSN", dsnForm)
		return db
	}
	if option, ok := timeZoneOption(address); ok {
		at.problem("a DSN with "+option, "Remove it: Fanfold sets the session's time zone to UTC. What DATETIME columns mean is said by time_zone beside the dsn")
	}
	if file := f.get("password_file"); file.given() {
		switch {
		case f.get("dsn_file").given():
			file.hidden().problem("both dsn_file and password_file", "Put the password into the DSN's file, or give the DSN in dsn")
		case user == "":
			at.problem("a DSN without user, for the password in password_file", "Write user@tcp(host:port)/schema")
		case password != "":
			at.problem("a DSN with a password, and a password_file", "Write user@tcp(host:port)/schema, or remove password_file")
		default:
			secret, _ := file.hidden().content()
			text = user + ":" + secret + "@" + address
		}
	}
	db.DSN = report.Secret(text)
	return db
}

// splitDSN cuts a DSN where go-sql-driver does: the last / begins the schema,
// the last @ before it the address, the first : before that the password.
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

// timeZoneOption finds what would set the time zone of a session in the options of a
// DSN. It returns the option where that can be nothing else, and can be shown.
func timeZoneOption(address string) (string, bool) {
	_, options, _ := strings.Cut(address[strings.LastIndexByte(address, '/')+1:], "?")
	for option := range strings.SplitSeq(options, "&") {
		name, value, _ := strings.Cut(option, "=")
		text, err := url.QueryUnescape(value)
		if err != nil || !strings.Contains(strings.ToLower(name+text), "time_zone") {
			continue
		}
		if plainZone.MatchString(text) {
			return name + "=" + text, true
		}
		return "time_zone", true
	}
	return "", false
}

// secret reads a value that is given in one field, or in the file that another
// one names. It must be given in one of them.
func (f fields) secret(name, fileName, form string) (string, setting, bool) {
	direct, file := f.get(name).hidden(), f.get(fileName).hidden()
	switch {
	case direct.given() && file.given():
		file.problem("both "+name+" and "+fileName, "Remove one of them")
		return "", file, false
	case file.given():
		text, ok := file.content()
		return text, file, ok
	case direct.given():
		text, ok := direct.text()
		return text, direct, ok
	case !f.broken:
		direct.problem("missing", form+", or name a file that holds it in "+fileName)
	}
	return "", direct, false
}

// content reads the file that a field names, without the line end at its end.
// The system's message is not shown, and the caller hides the name where a secret may
// have been put in its place.
func (p setting) content() (string, bool) {
	name, ok := p.text()
	if !ok {
		return "", false
	}
	data, err := p.env.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.problem("the file that it names is not there", "Name a file; a relative name is relative to the folder of this one")
	case errors.Is(err, fs.ErrPermission):
		p.problem("the file that it names may not be read", "Check its owner and mode")
	case err != nil:
		p.problem("the file that it names cannot be read", "Name a file that holds nothing but the value")
	case strings.TrimRight(string(data), "\r\n") == "":
		p.problem("the file that it names is empty", "")
	default:
		return strings.TrimRight(string(data), "\r\n"), true
	}
	return "", false
}

func (f fields) sink() report.SinkURL {
	at, ok := f.need("sink", report.SinkForm)
	if !ok {
		return report.SinkURL{}
	}
	text, ok := at.text()
	if !ok {
		return report.SinkURL{}
	}
	u, wrong := report.ParseSinkURL(text)
	if wrong != nil {
		at.problem(wrong.Message, wrong.Remedy)
	}
	return u
}
