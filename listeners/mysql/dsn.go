package mysql

import (
	"fmt"
	"iter"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

var (
	dsnNetwork = regexp.MustCompile(`^(tcp|unix)?$|^(tcp|unix)\([^()]*\)$|^tcp[46]\([^()]+\)$`)
	plainZone  = regexp.MustCompile(`^'?([+-][0-9:]{1,6}|[A-Z][A-Za-z_]*(/[A-Za-z_]+)*)'?$`)
	// In these character sets a byte of a letter can be a backslash.
	unsafeCollation = regexp.MustCompile(`^(big5|cp932|gb18030|gbk|sjis)_`)
	plainValue      = regexp.MustCompile(`^[0-9A-Za-z_./+-]{1,20}$`)
)

// badDSN rejects a DSN that go-sql-driver/mysql cannot use, and options that set the
// time zone of a session.
func badDSN(text string) *report.Mistake {
	_, _, address, ok := splitDSN(text)
	if !ok {
		return &report.Mistake{Message: "not a DSN"}
	}
	slash := strings.LastIndexByte(address, '/')
	if mistake := badDSNAddress(address[:slash]); mistake != nil {
		return mistake
	}
	schema, options, _ := strings.Cut(address[slash+1:], "?")
	if _, err := url.PathUnescape(schema); err != nil {
		return &report.Mistake{Message: "the schema in the DSN has a % without two hexadecimal digits",
			Remedy: "Write %25 for a %"}
	}
	for option := range strings.SplitSeq(options, "&") {
		name, value, given := strings.Cut(option, "=")
		plain, err := url.QueryUnescape(value)
		if err != nil {
			return &report.Mistake{Message: "the option " + shownName(name) +
				" of the DSN has a % without two hexadecimal digits", Remedy: "Write %25 for a %"}
		}
		if given && dsnOptions[name] != nil {
			if remedy := dsnOptions[name](value); remedy != "" {
				shown := ""
				if plainValue.MatchString(value) { // anything longer may be a secret in the wrong place
					shown = "=" + value
				}
				return &report.Mistake{Message: "the DSN sets " + name + shown, Remedy: remedy}
			}
		}
		if !strings.Contains(strings.ToLower(name+plain), "time_zone") {
			continue
		}
		shown := "time_zone"
		if plainZone.MatchString(plain) { // it cannot contain a secret
			shown = name + "=" + plain
		}
		return &report.Mistake{Message: "the DSN sets " + shown,
			Remedy: "Remove it: Fanfold sets the session's time zone to UTC. Set the zone of DATETIME columns in time_zone, next to dsn"}
	}
	return nil
}

// badDSNAddress rejects a port to which nobody can connect.
func badDSNAddress(server string) *report.Mistake {
	network, address, _ := strings.Cut(strings.TrimSuffix(server, ")"), "(")
	if network == "unix" || !strings.Contains(address, ":") {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil { // an IPv6 address without a port
		return nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		message := "the port in the DSN is not a number from 1 to 65535"
		if plainValue.MatchString(port) {
			message += fmt.Sprintf(" (value %q)", port)
		}
		return &report.Mistake{Message: message, Remedy: "Write tcp(host:3306)"}
	}
	return nil
}

// shownName is the name of an option, unless it can contain a secret.
func shownName(name string) string {
	if plainValue.MatchString(name) {
		return name
	}
	return "(hidden)"
}

// dsnOptions are the options that go-sql-driver/mysql knows. Each returns a remedy for a value that
// the driver refuses, or with which it cannot connect. All other options are session variables.
var dsnOptions = map[string]func(value string) (remedy string){
	"timeout":      badDuration,
	"readTimeout":  badDuration,
	"writeTimeout": badDuration,
	"timeTruncate": badDuration,

	"allowAllFiles":            badSwitch,
	"allowCleartextPasswords":  badSwitch,
	"allowFallbackToPlaintext": badSwitch,
	"allowNativePasswords":     badSwitch,
	"allowOldPasswords":        badSwitch,
	"checkConnLiveness":        badSwitch,
	"clientFoundRows":          badSwitch,
	"columnsWithAlias":         badSwitch,
	"compress":                 badSwitch,
	"multiStatements":          badSwitch,
	"parseTime":                badSwitch,
	"rejectReadOnly":           badSwitch,
	"interpolateParams":        badSwitch,

	"collation": func(value string) string {
		if unsafeCollation.MatchString(value) {
			return "Remove it: Fanfold sends and reads all text as utf8mb4"
		}
		return ""
	},
	"loc": func(value string) string {
		name, err := url.QueryUnescape(value)
		if err == nil {
			_, err = time.LoadLocation(name)
		}
		if err != nil {
			return "Remove it: it has no effect. Set the zone of DATETIME columns in time_zone, next to dsn"
		}
		return ""
	},
	"maxAllowedPacket": func(value string) string {
		if _, err := strconv.Atoi(value); err != nil {
			return "Remove it: the server's max_allowed_packet decides"
		}
		return ""
	},
	"tls": func(value string) string {
		if _, ok := switchOf(value); ok || slices.Contains([]string{"skip-verify", "preferred"},
			strings.ToLower(value)) {
			return ""
		}
		return "Write tls=true, or remove it and name the authority's certificate in ca_file, next to dsn"
	},
	"serverPubKey": func(string) string {
		return "Remove it: without TLS, the server's public key is asked for. Use TLS to know which server answers"
	},
	"strict": func(string) string { return "Remove it, and set sql_mode=%27TRADITIONAL%27" },
}

func badDuration(value string) string {
	if d, err := time.ParseDuration(value); err != nil || d < 0 {
		return "Write a duration with its unit, such as 10s or 500ms"
	}
	return ""
}

func badSwitch(value string) string {
	if _, ok := switchOf(value); !ok {
		return "Write true or false"
	}
	return ""
}

// switchOf reads a value that is on or off, as the driver does.
func switchOf(value string) (on, ok bool) {
	switch value {
	case "1", "true", "TRUE", "True":
		return true, true
	case "0", "false", "FALSE", "False":
		return false, true
	}
	return false, false
}

// splitDSN splits a DSN as go-sql-driver does: the last / precedes the schema, the last @
// before it the address, and the first : before that the password.
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

// warnDSN returns what a DSN sets without effect; nil: nothing.
func warnDSN(dsn string) *report.Mistake {
	for name, value := range options(dsn) {
		if on, _ := switchOf(value); on && name == "allowAllFiles" {
			return &report.Mistake{Message: "the DSN sets allowAllFiles, which has no effect: a server never gets a file of this machine", Remedy: "Remove it"}
		}
	}
	return nil
}

// setsTLS reports whether a DSN has the option tls.
func setsTLS(dsn string) bool {
	for name := range options(dsn) {
		if name == "tls" {
			return true
		}
	}
	return false
}

// options iterates over the names and values of the options of a DSN.
func options(dsn string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		_, _, address, _ := splitDSN(dsn)
		_, all, _ := strings.Cut(address, "?")
		for option := range strings.SplitSeq(all, "&") {
			if name, value, given := strings.Cut(option, "="); given && !yield(name, value) {
				return
			}
		}
	}
}

// account returns the user of a DSN, and whether it has a password.
func account(dsn string) (user string, password bool) {
	user, secret, _, _ := splitDSN(dsn)
	return user, secret != ""
}

// addPassword adds the password to a DSN that has a user and no password.
func addPassword(dsn, password string) string {
	user, _, address, _ := splitDSN(dsn)
	return user + ":" + password + "@" + address
}
