package report

import (
	"fmt"
	"regexp"
	"strings"
)

// Site is what people and services reach over HTTP.
type Site struct {
	// secret that seals the links of waiting pages: see [Waiting page](../guides/waiting-page.md). 32 characters or more, such as `openssl rand -base64 32` makes them; the same in every process. Another key ends all links
	Key Secret `yaml:"key" file:"key_file"`
	// address under which people reach `serve --http`, such as `https://reports.example.com`; links begin with it. Browsers may use its host name, and its path is in front of every path of the server
	URL string `yaml:"url" form:"url" why:"Write https://host[:port][/path], without user, query and #"`
	// column of the records that says whose they are, with an index: the page of a person shows the past exports of the same one
	Person string `yaml:"person" form:"column" unset:"none"`
	// users and their passwords, as `htpasswd -B` writes them. Every page except the waiting pages then asks for a login
	Users Secret `yaml:"users" file:"users_file"`
	// takes the user from a header that a proxy with a login of its own sets
	TrustedHeader TrustedHeader `yaml:"trusted_header"`
	// users who may make changes; all others only read. Without users and trusted_header everyone who reaches the loopback interface may
	Operators []string `yaml:"operators" form:"user"`
	// `true`: nobody makes changes over HTTP
	ReadOnly bool `yaml:"read_only" default:"false"`
}

// TrustedHeader names a proxy and the header in which it says who asks.
type TrustedHeader struct {
	// name of the header, such as `X-Forwarded-User`. The proxy must remove it from what it is sent
	Name string `yaml:"name" form:"header" need:"Name the header that the proxy sets, such as X-Forwarded-User"`
	// addresses from which the header is believed, such as `127.0.0.1` or `10.0.0.0/24`
	Proxies []string `yaml:"proxies" form:"network" min:"1" need:"Write the addresses of the proxies"`
}

// HasLogin tells whether it is known who asks.
func (s Site) HasLogin() bool { return s.Users != "" || s.TrustedHeader.Name != "" }

var (
	userForm = regexp.MustCompile(`^[0-9A-Za-z._@+-]{1,100}$`)
	hashForm = regexp.MustCompile(`^\$2[aby]\$(0[4-9]|1[0-4])\$[./0-9A-Za-z]{53}$`)
)

// ValidUser tells whether a text can be the name of a user.
func ValidUser(name string) bool { return userForm.MatchString(name) }

// ParseUsers reads users, a line NAME:HASH each as htpasswd -B writes them, into bcrypt hashes by
// name. Empty lines and those that begin with # count as nothing. The error names the line, and
// shows none of it.
func ParseUsers(text string) (map[string]string, error) {
	users := map[string]string{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, hash, _ := strings.Cut(line, ":")
		switch {
		case !ValidUser(name):
			return nil, fmt.Errorf("line %d does not begin with the name of a user and a colon", n)
		case !hashForm.MatchString(hash):
			return nil, fmt.Errorf("line %d has no bcrypt hash of a cost from 4 to 14", n)
		case users[name] != "":
			return nil, fmt.Errorf("line %d has a user that another line has", n)
		}
		users[name] = hash
	}
	if len(users) == 0 {
		return nil, fmt.Errorf("it has no users")
	}
	return users, nil
}
