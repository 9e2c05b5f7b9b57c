package postgres

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

var schemes = []string{"postgres", "postgresql"}

const dsnForm = "Write postgres://user:password@host:port/database?options, with @, /, ? and % in the password " +
	"escaped; for a socket @/database?host=/folder"

// dsn is a data source name.
type dsn struct {
	scheme         string
	user, password string
	host           string // or the folder of a socket
	port           uint16
	database       string
	options        []option
}

// option is an option of a data source name.
type option struct{ name, value string }

const (
	defaultPort = 5432
	dialTimeout = 5 * time.Second // if the DSN gives none
)

var (
	plainValue = regexp.MustCompile(`^[0-9A-Za-z_./+-]{1,20}$`)
	plainHost  = regexp.MustCompile(`^[0-9A-Za-z_.-]+$|^\[[0-9A-Fa-f:.]+(%25[0-9A-Za-z_.-]+)?\]$`)
	modes      = []string{"disable", "prefer", "require", "verify-full"}
)

// parseDSN reads a DSN. It needs no escapes in a password except for %, as long as no option has an @.
func parseDSN(text string) (d dsn, wrong *report.Mistake) {
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL || !slices.Contains(schemes, scheme) {
		return d, &report.Mistake{Message: "not a PostgreSQL URL", Remedy: dsnForm}
	}
	d.scheme = scheme
	unescaped := func(part, of string) string {
		plain, err := url.PathUnescape(part)
		if err != nil && wrong == nil {
			wrong = &report.Mistake{Message: "the " + of + " in the DSN has a % without two hexadecimal digits",
				Remedy: "Escape % as %25"}
		}
		return plain
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, password, _ := strings.Cut(rest[:at], ":")
		d.user, d.password = unescaped(user, "user"), unescaped(password, "password")
		rest = rest[at+1:]
	}
	rest, options, _ := strings.Cut(rest, "?")
	host, database, _ := strings.Cut(rest, "/")
	d.database = unescaped(database, "database")
	if wrong == nil {
		wrong = d.address(host)
	}
	for text := range strings.SplitSeq(options, "&") {
		if text == "" || wrong != nil {
			continue
		}
		name, value, given := strings.Cut(text, "=")
		plain, err := url.QueryUnescape(value)
		switch {
		case !plainValue.MatchString(name):
			wrong = &report.Mistake{Message: "the DSN has an option that is not a name", Remedy: dsnForm}
		case !given:
			wrong = &report.Mistake{Message: "the option " + name + " of the DSN has no value",
				Remedy: "Write " + name + "=value"}
		case err != nil:
			wrong = &report.Mistake{Remedy: "Write %25 for a %",
				Message: "the option " + name + " of the DSN has a % without two hexadecimal digits"}
		case name == "host" && d.host == "" && strings.HasPrefix(plain, "/"):
			d.host = plain
		default:
			d.options = append(d.options, option{name, plain})
			wrong = d.badOption(name, plain)
		}
	}
	switch {
	case wrong != nil:
	case d.host == "":
		wrong = &report.Mistake{Message: "the DSN has no host", Remedy: dsnForm}
	case d.user == "":
		wrong = &report.Mistake{Message: "the DSN has no user", Remedy: dsnForm}
	case d.database == "" || strings.Contains(d.database, "/"):
		wrong = &report.Mistake{Message: "the DSN has no name of a database", Remedy: dsnForm}
	case strings.ContainsRune(d.user+d.password+d.database+d.host, 0):
		wrong = &report.Mistake{Message: "the DSN has a character of the code 0", Remedy: dsnForm}
	}
	return d, wrong
}

// address reads host:port.
func (d *dsn) address(text string) *report.Mistake {
	d.port = defaultPort
	host, port := text, ""
	if colon := strings.LastIndexByte(text, ':'); colon > strings.LastIndexByte(text, ']') {
		host, port = text[:colon], text[colon+1:]
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return &report.Mistake{Message: "the port in the DSN is not a number from 1 to 65535",
				Remedy: "Write @host:5432/. In a password, escape @, / and ?"}
		}
		d.port = uint16(n)
	}
	if host == "" {
		return nil
	}
	if !plainHost.MatchString(host) {
		return &report.Mistake{Message: "the host in the DSN is not a name or an address",
			Remedy: "Write one host. In a password, escape @, / and ?"}
	}
	d.host = strings.ReplaceAll(strings.Trim(host, "[]"), "%25", "%")
	if strings.HasPrefix(host, "[") && !strings.Contains(host, "%") && net.ParseIP(d.host) == nil {
		return &report.Mistake{Message: "the host in the DSN is not a valid IPv6 address", Remedy: dsnForm}
	}
	return nil
}

// refused are the options that a DSN must not have, with their remedies.
var refused = map[string]string{
	"user": "Write the user before the @", "password": "Write the password before the @, or in password_file",
	"dbname": "Write the database after the /", "port": "Write the port after the host",
	"sslrootcert": "Name the authority's certificate in ca_file, next to dsn",
	"sslcert":     "Name the certificate in cert_file, next to dsn",
	"sslkey":      "Name the key in key_file, next to dsn", "sslpassword": "Use a key without a password",
	"service": "Write its settings into the DSN", "servicefile": "Write its settings into the DSN",
	"passfile": "Use password_file, next to dsn",
	"timezone": "Remove it: queries run in UTC. Set the zone of timestamp columns in time_zone, next to dsn",
}

// fixed are the settings of a session that Fanfold sets.
var fixed = []string{"datestyle", "intervalstyle", "client_encoding", "standard_conforming_strings",
	"extra_float_digits", "bytea_output", "statement_timeout", "default_transaction_isolation",
	"default_transaction_read_only"}

func (d *dsn) badOption(name, value string) *report.Mistake {
	remedy := refused[strings.ToLower(name)]
	switch {
	case remedy != "":
	case slices.Contains(fixed, strings.ToLower(name)):
		remedy = "Remove it: Fanfold sets it for every query"
	case name == "host":
		remedy = "Write the host after the @, or one folder of a socket as host=/folder"
	case name == "sslmode" && !slices.Contains(modes, value):
		remedy = "Write one of disable, prefer, require and verify-full"
	case name == "connect_timeout":
		if n, err := strconv.ParseUint(value, 10, 16); err != nil || n == 0 {
			remedy = "Write a number of seconds"
		}
	case strings.HasPrefix(name, "ssl") && name != "sslmode":
		remedy = "Remove it, or name certificates in ca_file, cert_file and key_file, next to dsn"
	case strings.ContainsRune(value, 0):
		remedy = "Remove the character of the code 0"
	}
	if remedy == "" {
		return nil
	}
	shown := ""
	if plainValue.MatchString(value) && refused[name] == "" { // anything else may be a secret in the wrong place
		shown = "=" + value
	}
	return &report.Mistake{Message: "the DSN sets " + name + shown, Remedy: remedy}
}

// option returns the last value of an option; empty: it is not set.
func (d *dsn) option(name string) (value string) {
	for _, o := range d.options {
		if o.name == name {
			value = o.value
		}
	}
	return value
}

// badDSN returns what is wrong with a DSN.
func badDSN(text string) *report.Mistake {
	_, wrong := parseDSN(text)
	return wrong
}

// setsTLS reports whether a DSN has the option sslmode.
func setsTLS(text string) bool {
	d, _ := parseDSN(text)
	return d.option("sslmode") != ""
}

// account returns the user of a DSN, and whether it has a password.
func account(text string) (user string, password bool) {
	d, _ := parseDSN(text)
	return d.user, d.password != ""
}

// addPassword adds the password to a DSN that has a user and no password.
func addPassword(text, password string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return text
	}
	user, _, _ := strings.Cut(rest[:at], ":")
	return scheme + "://" + user + ":" + url.PathEscape(password) + rest[at:]
}
