package config

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web/languages"
)

// language defines the values of the fields of a configuration. No mistake shows a
// part of the text, which can contain the value of a variable.
var language = decode.Language{
	Begin: "Begin with redis, databases, records, sink and reports",
	Types: map[reflect.Type]func(text string) (any, *report.Mistake){
		reflect.TypeFor[report.Rate]():       textOf(report.ParseRate),
		reflect.TypeFor[report.Every]():      textOf(report.ParseEvery),
		reflect.TypeFor[report.Cron]():       textOf(report.ParseCron),
		reflect.TypeFor[report.Share]():      textOf(report.ParseShare),
		reflect.TypeFor[report.JSONPath]():   textOf(report.ParseJSONPath),
		reflect.TypeFor[report.Pattern]():    textOf(report.ParsePattern),
		reflect.TypeFor[report.Template]():   textOf(template),
		reflect.TypeFor[report.Expression](): textOf(report.ParseExpression),
	},
	Words: map[reflect.Type][]string{
		reflect.TypeFor[report.ParameterType](): texts(report.ParameterTypes),
		reflect.TypeFor[report.JoinType]():      texts(report.JoinTypes),
		reflect.TypeFor[report.Kind]():          texts(report.Kinds),
	},
	Forms: map[string]func(text string) *report.Mistake{
		"database": matches(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`,
			"not a valid database name", "Use up to 64 letters, digits, _ and -"),
		"api": matches(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`,
			"not a valid API name", "Use up to 64 letters, digits, _ and -"),
		"report": matches(`^[a-z0-9][a-z0-9_-]{0,63}$`,
			"not a valid report name", "Use up to 64 of a-z, 0-9, _ and -, and begin with a letter or digit"),
		"class": matches(`^[a-z0-9][a-z0-9_-]{0,63}$`,
			"not a valid class name", "Use up to 64 of a-z, 0-9, _ and -, and begin with a letter or digit"),
		"lane": matches(`^[^\p{C}]{1,200}$`, "not the name of a lane", "Use 1 to 200 printable characters"),
		"timer": matches(`^[a-z0-9][a-z0-9_-]{0,63}$`,
			"not a valid timer name", "Use up to 64 of a-z, 0-9, _ and -, and begin with a letter or digit"),
		"parameter": matches(`^[A-Za-z_][A-Za-z0-9_]*$`,
			"not a valid parameter name", "Use letters, digits and _, and do not begin with a digit"),
		"header": func(text string) *report.Mistake {
			return unless(report.ValidHeader(text), "not a valid header name", "Use letters, digits and -")
		},
		"idempotency": func(text string) *report.Mistake {
			return unless(report.ValidHeader(text), "not a valid header name",
				"Write the header by which the API recognizes repeated requests, such as Idempotency-Key, or none")
		},
		"table": matches(`^`+report.Identifier+`(\.`+report.Identifier+`)?$`,
			"not a valid table name", "Write table or schema.table, of letters, digits, _ and $"),
		"column": matches(`^`+report.Identifier+`$`, "not a valid column name", "Use letters, digits, _ and $"),
		"stream": matches(`^[^ \p{C}\p{Z}]+$`,
			"not a valid stream name", "Use 1 to 512 printable characters without spaces"),
		"query": matches(`^(?s:.{1,100})$`, "not a name of 1 to 100 characters", ""),
		"user": func(text string) *report.Mistake {
			return unless(report.ValidUser(text), "not a valid user name",
				"Use up to 100 letters, digits and . _ @ + -")
		},
		"language": func(text string) *report.Mistake {
			return unless(slices.Contains(languages.Codes(), text), "not a language of the waiting page",
				"Use one of "+report.Listing(languages.Codes()))
		},
		"network":  badNetwork,
		"origin":   badOrigin,
		"listener": badListener,
		"redis":    badRedis,
		"server":   badServer,
		"url":      badURL,
		"path":     badPath,
		"address":  badAddress,
		"prefix":   badPrefix,
		"zone":     badZone,
	},
}

// texts converts words of a named type to strings.
func texts[T ~string](words []T) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return all
}

// textOf returns the parser of a type that is written as a text.
func textOf[T any](parse func(text string) (T, *report.Mistake)) func(text string) (any, *report.Mistake) {
	return func(text string) (any, *report.Mistake) { return parse(text) }
}

// matches returns the form that a regular expression defines.
func matches(expression, message, remedy string) func(string) *report.Mistake {
	form := regexp.MustCompile(expression)
	return func(text string) *report.Mistake { return unless(form.MatchString(text), message, remedy) }
}

// unless returns a mistake, or nil if ok.
func unless(ok bool, message, remedy string) *report.Mistake {
	if ok {
		return nil
	}
	return &report.Mistake{Message: message, Remedy: remedy}
}

func badListener(text string) *report.Mistake {
	if len(text) > report.MaxListener {
		return &report.Mistake{Message: fmt.Sprintf("longer than %d characters", report.MaxListener),
			Remedy: "Shorten it"}
	}
	return unless(report.ValidListener(text), "not a valid listener name",
		"Use letters, digits and _, in parts with dots between them; no part begins with a digit")
}

var hostForm = regexp.MustCompile(`^[0-9A-Za-z._:%-]+$`)

// badServer rejects a text that is not host:port.
func badServer(text string) *report.Mistake {
	host, port, err := net.SplitHostPort(text)
	n, portErr := strconv.ParseUint(port, 10, 16)
	return unless(err == nil && portErr == nil && n > 0 && hostForm.MatchString(host), "not host:port",
		"Write the host and the port of a server, such as 10.0.0.7:26379")
}

// badNetwork rejects a text that is neither an IP address nor a network.
func badNetwork(text string) *report.Mistake {
	_, err := netip.ParseAddr(text)
	if err != nil {
		_, err = netip.ParsePrefix(text)
	}
	return unless(err == nil, "neither an IP address nor a network", "Write 127.0.0.1, or 10.0.0.0/24 for a network")
}

// badAddress rejects a text that is neither host:port nor empty.
func badAddress(text string) *report.Mistake {
	if text == "" {
		return nil
	}
	const remedy = "Write 127.0.0.1:9464, or {listen: 0.0.0.0:9464, public: true} to let other machines connect"
	host, port, err := net.SplitHostPort(text)
	if err == nil && host == "" {
		return &report.Mistake{Message: "the host is missing", Remedy: remedy}
	}
	_, portErr := strconv.ParseUint(port, 10, 16)
	return unless(err == nil && portErr == nil && hostForm.MatchString(host), "not host:port", remedy)
}

// maxPrefix is the maximum length of the beginning of a key, in characters.
const maxPrefix = 64

// badPrefix rejects characters that key names in Redis cannot begin with: braces, which
// choose the cluster slot, those that have a meaning in patterns, and unprintable ones.
func badPrefix(text string) *report.Mistake {
	switch {
	case text == "":
		return &report.Mistake{Message: "empty", Remedy: "Remove the field to use the default"}
	case utf8.RuneCountInString(text) > maxPrefix:
		return &report.Mistake{Message: fmt.Sprintf("longer than %d characters", maxPrefix), Remedy: "Shorten it"}
	}
	bad := strings.ContainsFunc(text, func(r rune) bool {
		return r == ' ' || !unicode.IsPrint(r) || strings.ContainsRune(`{}*?[\`, r)
	})
	return unless(!bad, "contains a character that is not allowed in key names", `Do not use spaces, control characters or any of { } * ? [ \`)
}

// badZone rejects names that are not in the tz database, and Local, which differs between
// machines.
func badZone(text string) *report.Mistake {
	_, err := time.LoadLocation(text)
	return unless(err == nil && text != "Local" && text != "", "unknown time zone",
		"Use a name of the tz database, such as Europe/Berlin or UTC")
}

// template reads a text with values of the event in braces, which the kind that has it checks.
func template(text string) (report.Template, *report.Mistake) { return report.NewTemplate(text), nil }
