package config

import (
	"fmt"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
)

// badDSN rejects a data source name that its kind cannot use.
func (k Kinds) badDSN(text string) *report.Mistake {
	of, ok := k.Sources.OfDSN(text)
	if !ok {
		return &report.Mistake{Message: "not a DSN"}
	}
	wrong := of.DSN.Check(text)
	if wrong != nil && wrong.Remedy == "" {
		wrong.Remedy = "Write " + k.Sources.DSNForms()
	}
	return wrong
}

// checkDatabase validates the fields of a database that depend on one another, and adds its kind, its
// password and its certificates.
func (k *checker) checkDatabase(d *databaseFields) {
	s := k.Of(d)
	of, ok := k.kinds.Sources.OfDSN(d.DSN.Reveal())
	if !ok {
		return
	}
	d.Kind = of.Name
	addPassword(s, d, of.DSN)
	checkProtect(k, d, of)
	dsn := s.First("dsn", "dsn_file").Hidden()
	if of.DSN.Warn != nil {
		if useless := of.DSN.Warn(d.DSN.Reveal()); useless != nil {
			dsn.Warn(useless.Message, useless.Remedy)
		}
	}
	certificate := s.First("ca_file", "cert_file", "key_file").Hidden()
	switch d.Database.TLS = certificates(s, tlsFields(d.databaseTLS)); {
	case d.Database.TLS.None():
	case of.DSN.SetsTLS == nil:
		certificate.Problem("a "+of.Noun+" of kind "+of.Name+" has no TLS", "Remove it")
	case of.DSN.SetsTLS(d.DSN.Reveal()):
		certificate.Problem("both a certificate and tls in the DSN are set",
			"Remove tls from the DSN: the certificate already turns TLS on")
	}
}

// addPassword adds the password of password_file to the DSN.
func addPassword(s decode.Section, d *databaseFields, of *kind.DSN) {
	file, dsn := s.Get("password_file").Hidden(), s.First("dsn", "dsn_file").Hidden()
	if !file.Given() || d.DSN == "" {
		return
	}
	remedy := "Write " + of.Form
	if of.Account == nil {
		file.Problem("no DSN of this kind has a password", "Remove it")
		return
	}
	switch user, password := of.Account(d.DSN.Reveal()); {
	case s.Get("dsn_file").Given():
		file.Problem("both dsn_file and password_file are set",
			"Put the password into the DSN in dsn_file, or write the DSN in dsn")
	case user == "":
		dsn.Problem("the DSN has no user for the password in password_file", remedy)
	case password:
		dsn.Problem("both the DSN and password_file set a password", remedy+", or remove password_file")
	default:
		d.DSN = report.Secret(of.AddPassword(d.DSN.Reveal(), string(d.PasswordFile)))
		if user, password := of.Account(d.Replica.Reveal()); user != "" && !password {
			d.Replica = report.Secret(of.AddPassword(d.Replica.Reveal(), string(d.PasswordFile)))
		}
	}
}

// checkProtect validates the limits of how busy a database may be, and its replica.
func checkProtect(k *checker, d *databaseFields, of kind.Source) {
	s, limits := k.Of(d), k.Of(&d.Protect)
	replica := s.First("replica", "replica_file").Hidden()
	switch {
	case limits.Given() && !of.DSN.Measured:
		limits.Problem("a "+of.Noun+" of kind "+of.Name+" does not say how busy it is", "Remove it")
	case limits.Readable() && !d.Protect.Given() &&
		len(limits.Present("threads_running", "replica_lag", "statement_p95")) == 0:
		limits.Problem("no limit", "Add threads_running, replica_lag or statement_p95, or remove protect")
	}
	if !replica.Given() || s.Wrong("replica", "replica_file") {
		return
	}
	switch as, ok := k.kinds.Sources.OfDSN(d.Replica.Reveal()); {
	case !of.DSN.Measured:
		replica.Problem("a "+of.Noun+" of kind "+of.Name+" has no replica", "Remove it")
	case ok && as.Name != of.Name:
		replica.Problem("the replica is of kind "+as.Name+", and the database of kind "+of.Name,
			"Write the DSN of a replica of the database: "+of.DSN.Form)
	case d.Replica == d.DSN:
		replica.Problem("it has the DSN of the database", "Write the DSN of the replica, or remove it")
	case d.Protect.ReplicaLag == 0 && !limits.Wrong("replica_lag"):
		replica.Problem("nothing limits how far the replica may be behind", "Add protect: {replica_lag: 30s}")
	}
}

// checkTasks warns of limits.tasks that no listener can reach: a task needs a connection.
func checkTasks(c *Config, at decode.Setting) {
	most, name := 0, ""
	for _, r := range c.Reports {
		for _, l := range r.Listeners() {
			s, ok := c.Sources[l.Source]
			if ok && s.MaxTasks == 0 {
				return
			}
			if s.MaxTasks > most || s.MaxTasks == most && l.Source < name {
				most, name = s.MaxTasks, l.Source
			}
		}
	}
	if name != "" && c.Limits.Tasks > most {
		at.Warn(fmt.Sprintf("a listener runs at most %d tasks at once, because each needs a connection: "+
			"databases.%s.max_connections is %d", most, report.DatabaseOf(name), most),
			fmt.Sprintf("Raise max_connections to %d, or remove tasks, which is then as many", c.Limits.Tasks))
	}
}
