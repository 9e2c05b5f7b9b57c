package report

// Admin has the settings of the server of metrics, probes and profiles.
type Admin struct {
	// `host:port` of the admin server. An address that other machines can reach needs `public`, or a login in
	// `http`, which `/metrics` then requires too
	Listen string `yaml:"listen" short:"" form:"address" unset:"none"`
	// `true` allows an address that other machines can reach, such as `0.0.0.0:9464`, without a login
	Public bool `yaml:"public" default:"false"`
}
