package starter

import (
	"os"
	"regexp"
	"strings"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
)

// source is a database of the options.
type source struct {
	Name     string
	DSN      string // as in the file: with the name of the password's variable
	variable string // that a password belongs into
	kind     kind.Source
	records  bool // it can have the table of the records
	db       Database
	Tables   []*table
}

type lookup = func(name string) (string, bool)

var (
	sourceName     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)
	isVariable     = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)
	notInVariables = regexp.MustCompile(`[^A-Z0-9]+`)
)

// AddressForms lists the forms of addresses, for remedies. With records, those of databases that can have them.
func AddressForms(kinds config.Kinds, records bool) string {
	var forms []string
	for _, k := range kinds.Sources {
		if _, ok := kinds.RecordsIn(k.Name); k.Init != nil && (!records || ok) {
			forms = append(forms, "NAME="+k.Init.Address)
		}
	}
	return strings.Join(forms, " or ")
}

// newSource reads NAME=URL, or a DSN as in a configuration.
func newSource(text string, env lookup, kinds config.Kinds) (*source, error) {
	name, address, ok := strings.Cut(text, "=")
	form := "write " + AddressForms(kinds, false)
	if !ok || !sourceName.MatchString(name) {
		return nil, fault.Input.New("--database: the address has no name: %s, with a name of up to 64 letters, digits, _ and -", form)
	}
	s := &source{Name: name, variable: defaultVariable(name)}
	scheme, user, host, err := split(address, s.variable, env)
	if err != nil {
		return nil, fault.Input.New("--database %s: %w", name, err)
	}
	if user == "" || user[0] == ':' {
		return nil, fault.Input.New("--database %s: no user: %s", name, form)
	}
	for _, k := range kinds.Sources {
		if k.Init == nil {
			continue
		}
		if s.DSN, ok, err = k.Init.DSN(scheme + user + "@" + host); err != nil {
			return nil, fault.Input.New("--database %s: %w: write NAME=%s", name, err, k.Init.Address)
		} else if ok {
			s.kind = k
			_, s.records = kinds.RecordsIn(k.Name)
			return s, nil
		}
	}
	return nil, fault.Input.New("--database %s: the address is of no database that init can read: %s", name, form)
}

// badVariable returns an error if the DSN is wrong because of the value of a variable.
func (s *source) badVariable(env lookup) error {
	variable := ""
	expand := func(value lookup) *report.Mistake {
		return s.kind.DSN.Check(os.Expand(s.DSN, func(name string) string {
			if name == "$" { // $${ is a ${ that names no variable
				return name
			}
			variable = name
			text, _ := value(name)
			return text
		}))
	}
	if expand(func(string) (string, bool) { return "x", true }) != nil {
		return nil
	}
	if _, set := env(variable); !set {
		return nil
	}
	if wrong := expand(env); wrong != nil {
		return fault.Input.New("--database %s: the environment variable %s: %s. %s", s.Name, variable, wrong.Message,
			wrong.Remedy)
	}
	return nil
}

// defaultVariable returns the variable that has the password of a database unless its address names
// another one: PLT_FUND_PASSWORD for plt_fund.
func defaultVariable(database string) string {
	name := strings.Trim(notInVariables.ReplaceAllString(strings.ToUpper(database), "_"), "_")
	if name == "" || name[0] <= '9' {
		name = strings.TrimSuffix("DB_"+name, "_")
	}
	return name + "_PASSWORD"
}

// split splits an address into scheme://, user:password and the rest. The password is ${NAME}, as
// the address has it; without one, it is the variable if that is set.
func split(address, variable string, env lookup) (scheme, user, host string, err error) {
	scheme, host, isURL := strings.Cut(address, "://")
	if scheme += "://"; !isURL {
		scheme, host = "", address
	}
	if before, after, ok := strings.Cut(host, "@"); ok {
		user, host = before, after
	}
	user, password, given := strings.Cut(user, ":")
	user = escape(user)
	switch _, set := env(variable); {
	case given && !isVariable.MatchString(password):
		err = fault.Input.New("every user of this machine can see a password in an address: remove it, and put it into the environment variable %s", variable)
	case given:
		user += ":" + password
	case set:
		user += ":${" + variable + "}"
	}
	return scheme, user, escape(host), err
}

// redisURL returns the URL of Redis as in the file.
func redisURL(text string, env lookup) (string, error) {
	scheme, user, host, err := split(text, "REDIS_PASSWORD", env)
	if err != nil {
		return "", fault.Input.New("--redis: %w", err)
	}
	if user == "" || strings.HasPrefix(host, "/") {
		return scheme + host, nil
	}
	return scheme + user + "@" + host, nil
}

// escape escapes ${, which would name a variable.
func escape(text string) string { return strings.ReplaceAll(text, "${", "$${") }
