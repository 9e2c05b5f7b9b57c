package starter

import (
	"errors"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/listeners/mysql"
)

func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

// TestAddresses: addresses are read, and passwords come only from the environment.
func TestAddresses(t *testing.T) {
	t.Parallel()
	env := environment(map[string]string{"FUND_PASSWORD": "s3cr3t:@/", "OTHER": "0ther", "DB_2_PASSWORD": "", "REDIS_PASSWORD": "r3dis"})
	for text, want := range map[string]string{
		"fund=mysql://app@db.internal/plt_fund?tls=true":       "app:${FUND_PASSWORD}@tcp(db.internal:3306)/plt_fund?tls=true",
		"plt=mariadb://app@[::1]:3307/plt":                     "app@tcp([::1]:3307)/plt",
		"plt=mysql://app:${OTHER}@h:1/plt":                     "app:${OTHER}@tcp(h:1)/plt",
		"plt=app:${OTHER}@tcp(h:1)/plt":                        "app:${OTHER}@tcp(h:1)/plt",
		"plt=app@unix(/run/mysqld.sock)/plt?collation=utf8mb4": "app@unix(/run/mysqld.sock)/plt?collation=utf8mb4",
		"2=mysql://app@h/s":                                    "app:${DB_2_PASSWORD}@tcp(h:3306)/s",
		"plt=postgres://app@h/plt?sslmode=require":             "postgres://app@h/plt?sslmode=require",
		"fund=postgresql://app@h:5433/plt":                     "postgresql://app:${FUND_PASSWORD}@h:5433/plt",
	} {
		s, err := newSource(text, env, kinds.Standard().Config())
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := s.DSN; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"redis://h:6379/0":              "redis://:${REDIS_PASSWORD}@h:6379/0",
		"rediss://app@h/1?protocol=3":   "rediss://app:${REDIS_PASSWORD}@h/1?protocol=3",
		"redis://:${OTHER}@h:6379":      "redis://:${OTHER}@h:6379",
		"unix:///run/redis.sock?db=1":   "unix:///run/redis.sock?db=1",
		"valkey://us$%7Bx%7D@h:6379/12": "valkey://us$%7Bx%7D:${REDIS_PASSWORD}@h:6379/12",
	} {
		if got, err := redisURL(text, env); err != nil || got != want {
			t.Errorf("%s: %s, want %s; %v", text, got, want, err)
		}
	}
}

// TestWhatIsGivenWrong: every error has a remedy, and none contains a secret.
func TestWhatIsGivenWrong(t *testing.T) {
	t.Parallel()
	env := environment(map[string]string{"ODD": "s3cr3t/#", "P_C": "s3cr3t%"})
	good := []string{"a=mysql://app@h/s"}
	for want, o := range map[string]Options{
		"--database is missing":                             {Redis: "redis://h"},
		"--database: the address has no name: write NAME=":  {Redis: "redis://h", Databases: []string{"mysql://app:s3cr3t@h/s"}},
		"the address is of no database that init can read":  {Redis: "redis://h", Databases: []string{"a=oracle://s3cr3t@h/s"}},
		"none of the databases can have the records":        {Redis: "redis://h", Databases: []string{"a=postgres://app@h/s"}},
		"a database of kind postgres cannot have":           {Redis: "redis://h", Databases: []string{"a=mysql://app@h/s", "b=postgres://app@h/s"}, Records: "b"},
		"the DSN has no name of a database":                 {Redis: "redis://h", Databases: []string{"a=mysql://app@h/s", "b=postgres://app@h"}},
		"databases.a.dsn: ":                                 {Redis: "redis://h", Databases: []string{"a=app@s3cr3t"}},
		"environment variable A_PASSWORD":                   {Redis: "redis://h", Databases: []string{"a=mysql://app:s3cr3t@h/s"}},
		"put it into the environment variable B_C_PASSWORD": {Redis: "redis://h", Databases: []string{"b-c=app:s3cr3t@tcp(h)/s"}},
		"no user":   {Redis: "redis://h", Databases: []string{"a=mysql://h/s"}},
		"no schema": {Redis: "redis://h", Databases: []string{"a=mysql://app@h"}},
		"the environment variable NONE is not set": {Redis: "redis://h", Databases: []string{"a=mysql://app:${NONE}@h/s"}},
		"the DSN sets tls=custom":                  {Redis: "redis://h", Databases: []string{"a=mysql://app@h/s?tls=custom"}},
		"given twice":                              {Redis: "redis://h", Databases: []string{good[0], good[0]}},
		"environment variable REDIS_PASSWORD":      {Redis: "redis://:s3cr3t@h", Databases: good},
		"not a valid Redis URL. Write redis://":    {Redis: "s3cr3t", Databases: good},
		"--database a: the environment variable P_C: the password in the DSN has a % without two hexadecimal digits. Escape % as %25": {
			Redis: "redis://h", Databases: []string{"a=postgres://app:${P_C}@h/s"}},
		"escape special characters in the password": {Redis: "redis://:${ODD}@h", Databases: good},
		"--records b: no database has this name":    {Redis: "redis://h", Databases: good, Records: "b"},
		"records.table: not a valid table name":     {Redis: "redis://h", Databases: good, Records: "a.x-y"},
		`(value "s3.bucket")`:                       {Redis: "redis://h", Databases: good, Sink: "s3.bucket"},
	} {
		o.File, o.Lookup, o.Kinds = "fanfold.yaml", env, kinds.Standard().Config()
		o.Folder = kinds.Standard().Sinks.Folder
		if strings.Contains(want, "can have the records") || strings.Contains(want, "cannot have") {
			o.Kinds.Records = o.Kinds.Records[:1] // those of MySQL
		}
		if _, err := Propose(t.Context(), o); !errors.Is(err, fault.Input) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// schema makes tables from texts such as "vs_user: id bigint pk, name varchar, at datetime index".
func schema(of *source, texts ...string) []*table {
	var tables []*table
	for _, text := range texts {
		name, columns, _ := strings.Cut(text, ": ")
		tb := &table{of: of, Table: kind.Table{Name: name, Text: "`" + name + "`"}}
		for c := range strings.SplitSeq(columns, ", ") {
			words := strings.Fields(c)
			last := words[len(words)-1]
			column, _, _ := strings.Cut(words[1], "(")
			tb.columns = append(tb.columns, &kind.Column{Name: words[0], Role: mysql.RoleOf(column), Indexed: last == "pk" || last == "index", Unique: last == "pk"})
		}
		tables = append(tables, tb)
	}
	of.Tables = tables
	return tables
}

// TestPicks: the best candidate is the one that a person would choose.
func TestPicks(t *testing.T) {
	t.Parallel()
	for want, given := range map[string][2][]string{
		"fund.withdraw user_id created_at + user.vs_user id": {
			{"payment: user_id bigint index, amount decimal", "withdraw: id bigint pk, user_id bigint index, amount decimal, created_at datetime index", "withdraw_bak: id bigint pk, user_id bigint index, amount decimal, created_at datetime index"},
			{"vs_user: id bigint pk, name varchar, created_at datetime", "tag: user_id bigint index, tag varchar"},
		},
		"fund.orders customerId ordered_on + user.customers customer_id": {
			{"orders: id bigint pk, customerId int, total decimal, updated_at timestamp index, ordered_on date index"},
			{"customers: customer_id bigint pk, mail varchar", "sessions: customer_id varchar, token varchar"},
		},
		"fund.stock   + ": {{"stock: sku varchar, amount int, shelf int"}, {"rooms: id bigint pk, name varchar, floor int"}},
	} {
		fund, user := &source{Name: "fund"}, &source{Name: "user"}
		all := picks(append(schema(fund, given[0]...), schema(user, given[1]...)...))
		got := all[0].Facts.of.Name + "." + all[0].Facts.Name + " "
		if p := all[0]; p.Key != nil {
			got += p.Key.Name
		}
		got += " "
		if p := all[0]; p.Date != nil {
			got += p.Date.Name
		}
		got += " + "
		if p := all[0]; p.Other != nil {
			got += p.Other.of.Name + "." + p.Other.Name + " " + p.Same.Name
		}
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestRecordTables: the columns of services are mapped, and their tables are used only if they are named.
func TestRecordTables(t *testing.T) {
	t.Parallel()
	const (
		mine    = "exports: id bigint pk, report varchar, parameters longtext, status varchar, attempt int, file varchar, row_count bigint, error text, created_at timestamp, updated_at timestamp"
		foreign = "download_task: id bigint pk, report_type varchar, state enum('new','running','done','failed','canceled'), retry_count int, url varchar, gmt_modified datetime"
		short   = "report_log: id bigint pk, name varchar, status varchar"
		number  = "jobs: id bigint pk, report varchar, status int, attempt int, file varchar, updated_at timestamp"
	)
	tables := func() []*source {
		a, b := &source{Name: "a"}, &source{Name: "b"}
		schema(a, foreign, short, number)
		schema(b, mine, strings.Replace(mine, "exports", "archive", 1))
		return []*source{a, b}
	}
	all := tables()
	find := func(in []*source, of *source, table string) (records, error) {
		r := records{Of: of, Table: table}
		return r, r.find(in)
	}
	r, err := find(all, nil, "")
	if err != nil || r.Of != all[1] || r.Table != "exports" || !r.Exists || len(r.Columns) > 0 {
		t.Errorf("%+v %v", r, err)
	}
	if r, err = find(all[:1], nil, ""); err != nil || r.Of != all[0] || r.Table != "file_download_record" || r.Exists {
		t.Errorf("%+v %v", r, err)
	}
	r, err = find(all, all[0], "download_task")
	if err != nil || r.Mapping() != `attempt: "retry_count", error: "-", file: "url", parameters: "-", report: "report_type", rows: "-", status: "state", updated: "gmt_modified"` {
		t.Errorf("%+v %v", r, err)
	}
	const want = "no column for attempt, file, updated"
	if _, err := find(all, all[0], "report_log"); !errors.Is(err, fault.Input) || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	all[0].Tables[1].Name = "file_download_record"
	if _, err := find(all[:1], nil, ""); err == nil || !strings.Contains(err.Error(), "--records a.fanfold_record") {
		t.Error(err)
	}
}

// TestOddNames: the file is valid for unusual names of tables and columns, with every optional part.
func TestOddNames(t *testing.T) {
	t.Parallel()
	env := environment(map[string]string{"X": "s3cr3t", "REDIS_PASSWORD": "r"})
	o := Options{File: "f.yaml", Redis: "redis://h", Sink: "gs://bucket/${x}", Databases: []string{"1-a=mysql://u:${X}@h/s", "null=mysql://u@h/s"}, Kinds: kinds.Standard().Config(), Lookup: env}
	made, err := newPage(o)
	if err != nil {
		t.Fatal(err)
	}
	schema(made.Sources[0], "2024: user_id bigint index, odd varchar, ${y} varchar, é varchar, at date, doc json, raw${ blob", "2024: id bigint pk")
	schema(made.Sources[1], "user: id bigint pk, at varchar, user_id int, Null varchar")
	made.Sources[0].Tables[0].columns[1].Name = `a "b": -`
	made.Pick = picks(append(made.Sources[0].Tables[:1], made.Sources[1].Tables...))[0]
	made.Pick.queries()
	made.Pick.From = "2024-01-01"
	made.Records = records{Of: made.Sources[1], Table: "t$", Columns: map[string]string{"rows": "-", "file": "z$"}}
	p, err := made.proposal(o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load("f.yaml", p.Text, decode.Environment{Lookup: env}, kinds.Standard().Config())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(p.Text), "        # Columns that are left out: doc, raw${.\n        query: >-\n") {
		t.Errorf("%s", p.Text)
	}
	r := c.Reports["2024"]
	if r == nil || c.Records.Columns["file"] != "z$" || c.Sink.URL != "gs://bucket/${x}" || len(p.Variables) != 2 {
		t.Errorf("%+v\n%s", c, p.Text)
	}
	var columns []string
	for _, l := range r.Listeners() {
		columns = append(columns, l.Columns...)
	}
	if got := strings.Join(columns, "|"); got != `user_id|a "b": -|${y}|é|at|user_id|id|Null` {
		t.Errorf("%s\n%s", got, p.Text)
	}
}

// TestNotesOfTheSink: the file says what its kind of sink needs.
func TestNotesOfTheSink(t *testing.T) {
	t.Parallel()
	for sink, want := range map[string]bool{"s3://bucket/reports": true, "gs://bucket/reports": false} {
		o := Options{File: "f.yaml", Redis: "redis://h", Sink: sink, Databases: []string{"a=mysql://u@h/s"}, Kinds: kinds.Standard().Config(), Lookup: environment(nil)}
		made, err := newPage(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, text, err := made.load(o); err != nil || strings.Contains(string(text), "endpoint: https://") != want {
			t.Errorf("%v %s", err, text)
		}
	}
}
