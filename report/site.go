package report

import "regexp"

// Site has the settings of serve --http.
type Site struct {
	// Secret that seals the links of [waiting pages](../guides/waiting-page.md) and
	// [order pages](../guides/order-page.md): 32 characters or more, such as from `openssl rand -base64 32`, and the
	// same in every process. A new secret invalidates all links
	LinkSecret Secret `yaml:"link_secret" file:"link_secret_file"`
	// Address at which people reach `serve --http`, such as `https://reports.example.com`. Links begin with it.
	// Browsers may use its host name, and its path is in front of every path of the server
	URL string `yaml:"url" form:"url" why:"Write https://host[:port][/path], without user, query and #"`
	// Language of the pages behind links for people whose browser asks for none that it has: `de`, `en`, `es` or `zh`
	Language string `yaml:"language" form:"language" default:"en"`
	// `true` lets everyone who has the link of a waiting page cancel its report, unless `read_only` is set
	Cancel bool `yaml:"cancel" default:"false"`
	// Origins of the pages that may [show](../guides/order-page.md#3-embed-it) pages behind links in a frame, such as
	// `https://admin.example.com`. The dashboard is never shown in a frame
	FrameAncestors []string `yaml:"frame_ancestors" form:"origin" unset:"none"`
	// Origins of the pages that may call the [API](../guides/http-api.md#from-a-browser) from a browser
	CORS []string `yaml:"cors" form:"origin" unset:"none"`
	// Users with passwords, as `fanfold user hash` prints them. All pages except those behind links then require a
	// [login](../guides/security.md#log-in)
	Users Secret `yaml:"users" file:"users_file"`
	// Takes the user from a header that an authenticating proxy sets
	TrustedHeader TrustedHeader `yaml:"trusted_header"`
	// Tokens of services, for the API, as `fanfold user token` prints them
	Tokens Secret `yaml:"tokens" file:"tokens_file"`
	// Rights of users and services, by a name that you choose. Without groups, everyone who logs in may see and
	// download, and nobody may make changes. Without `users` and `trusted_header`, everyone who can reach the loopback
	// interface may do everything
	Groups []Group `yaml:"groups" min:"1" unset:"everyone: see, download"`
	// `true` refuses all changes over HTTP
	ReadOnly bool `yaml:"read_only" default:"false"`
}

// TrustedHeader names the header in which a proxy passes the user.
type TrustedHeader struct {
	// Name of the header, such as `X-Forwarded-User`. The proxy must remove it from the requests that it receives
	Name string `yaml:"name" form:"header" need:"Name the header that the proxy sets, such as X-Forwarded-User"`
	// Addresses of the proxies, such as `127.0.0.1` or `10.0.0.0/24`. From others the header is ignored
	Proxies []string `yaml:"proxies" form:"network" min:"1" need:"Write the addresses of the proxies"`
}

// HasLogin reports whether users must log in.
func (s Site) HasLogin() bool { return s.Users != "" || s.TrustedHeader.Name != "" || s.Tokens != "" }

var (
	userForm = regexp.MustCompile(`^[0-9A-Za-z._@+-]{1,100}$`)
	hashForm = regexp.MustCompile(`^\$2[aby]\$(0[4-9]|1[0-4])\$[./0-9A-Za-z]{53}$`)
)

// ValidUser reports whether a text can be the name of a user.
func ValidUser(name string) bool { return userForm.MatchString(name) }

// ParseUsers reads lines USER:HASH, as fanfold user hash writes them, and returns the bcrypt hashes by
// name. It skips empty lines and those that begin with #. The error has the number of the line,
// but no part of its text.
func ParseUsers(text string) (map[string]string, error) {
	return parseLines(text, hashForm, "bcrypt hash with a cost from 4 to 14")
}
