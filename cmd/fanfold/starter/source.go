package starter

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/fanfold/fanfold/report"
)

// source is a database of the options.
type source struct {
	name     string
	user     string
	at       string // network(address)
	schema   string
	options  string // of the DSN, with the ?
	variable string // environment variable with the password; empty: no password
	password string
	tables   []*table
}

var (
	sourceName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)
	// ${NAME} in place of a password: the variable that has it.
	passwordVariable = regexp.MustCompile(`:\$\{([A-Za-z_][A-Za-z0-9_]*)\}@`)
	notInVariables   = regexp.MustCompile(`[^A-Z0-9]+`)
)

const databaseForm = "write NAME=mysql://user@host:3306/schema"

// newSource reads NAME=URL. The URL begins with mysql:// or mariadb://, or is a DSN as in a
// configuration.
func newSource(text string, lookup func(string) (string, bool)) (*source, error) {
	name, address, ok := strings.Cut(text, "=")
	if !ok || !sourceName.MatchString(name) {
		return nil, fmt.Errorf("--database: the address has no name: %s, with a name of up to 64 letters, digits, _ and -", databaseForm)
	}
	s := &source{name: name}
	wrong := func(what string) error { return fmt.Errorf("--database %s: %s", name, what) }
	variable := ""
	if found := passwordVariable.FindStringSubmatch(address); found != nil {
		variable, address = found[1], strings.Replace(address, found[0], "@", 1)
	}
	var err error
	given := false
	if strings.Contains(address, "://") {
		given, err = s.fromURL(address)
	} else {
		given, err = s.fromDSN(address)
	}
	switch {
	case err != nil:
		return nil, wrong(err.Error() + ": " + databaseForm)
	case given:
		return nil, wrong("every user of this machine can see a password in an address: remove it, and put it into the environment variable " + s.defaultVariable())
	case s.user == "":
		return nil, wrong("no user: " + databaseForm)
	case s.schema == "":
		return nil, wrong("no schema: " + databaseForm)
	}
	s.variable, s.password, err = password(variable, s.defaultVariable(), lookup)
	if err != nil {
		return nil, wrong(err.Error())
	}
	return s, nil
}

// defaultVariable returns the variable that has the password unless another one is named:
// PLT_FUND_PASSWORD for plt_fund.
func (s *source) defaultVariable() string {
	name := strings.Trim(notInVariables.ReplaceAllString(strings.ToUpper(s.name), "_"), "_")
	if name == "" || name[0] <= '9' {
		name = strings.TrimSuffix("DB_"+name, "_")
	}
	return name + "_PASSWORD"
}

// fromURL reads mysql://user@host:port/schema?options, and reports whether it contains a password.
func (s *source) fromURL(text string) (bool, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" && u.Scheme != "mariadb" || u.Hostname() == "" {
		return false, errors.New("not a MySQL or MariaDB URL") // the parser's error may contain the password
	}
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	_, given := u.User.Password()
	s.user, s.schema = u.User.Username(), strings.TrimPrefix(u.Path, "/")
	s.at = "tcp(" + net.JoinHostPort(u.Hostname(), port) + ")"
	if u.RawQuery != "" {
		s.options = "?" + u.RawQuery
	}
	return given, nil
}

// fromDSN reads user@tcp(host:port)/schema?options, and reports whether it contains a password.
func (s *source) fromDSN(text string) (bool, error) {
	c, err := mysql.ParseDSN(text)
	if err != nil {
		return false, errors.New("neither a URL nor a DSN")
	}
	s.user, s.schema, s.at = c.User, c.DBName, c.Net+"("+c.Addr+")"
	if _, options, ok := strings.Cut(text[strings.LastIndexByte(text, '/'):], "?"); ok {
		s.options = "?" + options
	}
	return c.Passwd != "", nil
}

// password returns the value of the named variable, or of the default variable if none is named and
// that one is set. Otherwise there is no password.
func password(named, defaultVariable string, lookup func(string) (string, bool)) (variable, value string, err error) {
	if named == "" {
		if value, ok := lookup(defaultVariable); ok {
			return defaultVariable, value, nil
		}
		return "", "", nil
	}
	value, ok := lookup(named)
	if !ok {
		return "", "", fmt.Errorf("the environment variable %s is not set: export it with the password", named)
	}
	return named, value, nil
}

// dsn returns the DSN with a password or a placeholder.
func (s *source) dsn(password string) string {
	if s.variable != "" {
		password = ":" + password
	}
	return s.user + password + "@" + s.at + "/" + s.schema + s.options
}

// database returns the settings of the connection.
func (s *source) database() report.Database {
	return report.Database{Name: s.name, DSN: report.Secret(s.dsn(s.password))}
}

// redisURL returns the URL of Redis as in the file, and the variable with its password.
func redisURL(text string, lookup func(string) (string, bool)) (inFile, variable string, err error) {
	wrong := func(what string) (string, string, error) { return "", "", errors.New("--redis: " + what) }
	named := ""
	if found := passwordVariable.FindStringSubmatch(text); found != nil {
		named, text = found[1], strings.Replace(text, found[0], "@", 1)
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Scheme == "" || u.Host == "" && u.Path == "" {
		return wrong("not a valid Redis URL: write redis://host:port/db, rediss:// for TLS")
	}
	if _, given := u.User.Password(); given {
		return wrong("every user of this machine can see a password in a URL: remove it, and put it into the environment variable REDIS_PASSWORD")
	}
	variable, value, err := password(named, "REDIS_PASSWORD", lookup)
	if err != nil {
		return wrong(err.Error())
	}
	if variable == "" || u.Host == "" {
		return escape(text), "", nil
	}
	if whole, err := url.Parse("redis://:" + value + "@host"); err != nil || whole.Host != "host" {
		return wrong("the password in " + variable + " contains characters that a URL does not allow: write %40 for @, %2F for /, %23 for #, %25 for % and so on")
	}
	user := ""
	if u.User != nil {
		user = u.User.String()
	}
	u.User = nil
	return escape(u.Scheme+"://"+user) + ":${" + variable + "}@" + escape(strings.TrimPrefix(u.String(), u.Scheme+"://")), variable, nil
}

// escape escapes ${, which would name a variable.
func escape(text string) string { return strings.ReplaceAll(text, "${", "$${") }
