package report

// Site is what people and services reach over HTTP.
type Site struct {
	// secret that seals the links of waiting pages: see [waiting.md](waiting.md). 32 characters or more, such as `openssl rand -base64 32` makes them; the same in every process. Another key ends all links
	Key Secret `yaml:"key" file:"key_file"`
	// address under which people reach `serve --http`, such as `https://reports.example.com`; links begin with it
	URL string `yaml:"url" form:"url" why:"Write https://host[:port][/path], without user, query and #"`
}
