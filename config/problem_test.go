package config

import (
	order "cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// base is a file without problems, which each case of badFiles breaks.
const base = `redis: redis://127.0.0.1:6379/0
databases:
  main: {dsn: "app:${USER_DB_PASSWORD}@tcp(db:3306)/app"}
records: {database: main}
sink: gs://reports/exports
limits: {tasks: "${TASKS}"}
reports:
  orders:
    timeout: 2h
    parameters:
      since: date
    listeners:
      shop.orders: {database: main, query: "SELECT id, total FROM orders WHERE day >= :since"}
      shop.users: {database: main, query: "SELECT id, name FROM users"}
      shop.items: {database: main, query: "SELECT id, item FROM items WHERE id IN (:shop.orders.id)"}
    join:
      key: id
      listeners:
        - shop.orders
        - {name: shop.users, type: left}
        - {name: shop.items, key: id}
    file:
      columns:
        - id
        - total
        - {column: shop.items.item, label: Item}
`

// badFiles breaks base: each pair of a case is a text and what takes its place.
// The messages are in testdata/problems.golden.
var badFiles = []struct {
	name  string
	edits []string
}{
	{"lanes that do not fit", []string{"limits:", "lanes: {by: sinse, weights: {acme: 0}, classes: {Bulk: 1, bulk: {weight: 2000}}}\nlimits:", "timeout: 2h", "class: bluk"}},
	{"a class that does not exist", []string{"limits:", "lanes: {by: sinse, classes: {bulk: {running: 5}}}\nlimits:", "timeout: 2h", "class: bluk\n    newest_only: true"}},
	{"equal jobs that are no mapping", []string{"timeout: 2h", "timeout: 2h\n    once: true"}},
	{"lanes by two names", []string{"limits:", "lanes: {by: {parameter: since, column: tenant}}\nlimits:"}},
	{"a class without lanes", []string{"timeout: 2h", "class: bulk\n    newest_only: true"}},
	{"a language that no page has", []string{"limits:", "http: {language: fr}\nlimits:"}},
	{"not YAML", []string{"records: {", "records: [}"}},
	{"an alias without anchor does not show what could be a secret", []string{"redis://127.0.0.1:6379/0", "*" + canary}},
	{"not UTF-8", []string{"shop.users, type", "shop\xff, type"}},
	{"two documents", []string{"sink:", "---\nsink:"}},
	{"not a mapping", []string{base, "redis://:" + canary + "@127.0.0.1"}},
	{"an empty file", []string{base, "# nothing\n"}},
	{"nothing that is needed", []string{base, "limits: {}\n"}},
	{"empty sections", []string{base, "redis:\ndatabases: {}\nrecords:\nsink:\nreports: {}\n"}},
	{"unknown fields with near ones", []string{"sink:", "snik: gs://a/b\nsink:", "timeout: 2h", "time_out: 2h", "type: left", "typ: left", "label: Item", "labels: Item"}},
	{"an unknown field with nothing near", []string{"sink:", "colour: red\nsink:"}},
	{"a field given twice", []string{"sink:", "sink: gs://x/y\nsink:"}},
	{"a merge key and a key that is a list", []string{"records: {", "records: {<<: {a: b}, [a]: c, "}},
	{"merge keys of what is no mapping", []string{"records: {", "records: {<<: x, ", "tasks: \"${TASKS}\"", "<<: [{large_files: 1}, 2]", "redis://127.0.0.1:6379/0", "{<<: " + canary + "}"}},
	{"two merge keys, and one of a list in a list", []string{"records: {", "records: {<<: {a: b}, <<: {c: d}, ", "tasks: \"${TASKS}\"", "<<: [[{large_files: 1}]]"}},
	{"a mapping that merges itself", []string{"limits: {", "limits: &l {<<: [{large_files: 3}, *l], "}},
	{"a merged field that is wrong", []string{"shop.users: {database: main, query: \"SELECT id, name FROM users\"}", "shop.users: &users\n        database: main\n        timeout: soon\n        query: SELECT id, name FROM users", "shop.items: {database: main", "shop.items: {<<: *users"}},
	{"a merged field that is unknown", []string{"limits: {tasks", "limits: {<<: {large_flies: 2}, tasks", "shop.users: {database: main", "shop.users: {<<: &b {databse: main}", "shop.items: {database: main", "shop.items: {<<: *b"}},
	{"mistakes in an anchor, each of which is said once", []string{"shop.users: {database: main, query: \"SELECT id, name FROM users\"}", "shop.users: &users {database: main, timeout: soon, databse: main, retry: &r {retries: -1}, query: \"SELECT id, name FROM users\"}", "    file:\n", "    retry: *r\n    file:\n", "label: Item}\n", "label: Item}\n  other: {listeners: {shop.users: *users}}\n  third: {listeners: {shop.users: *users}}\n"}},
	{"a secret merged to the wrong place", []string{"main: {dsn", "main: &m {dsn", "records: {database", "records: {<<: *m, database"}},
	{"wrong kinds", []string{"timeout: 2h", "timeout: [2h]", "records: {database: main}", "records: main", "key: id\n", "key: {a: b}\n"}},
	{"tags", []string{"timeout: 2h", "timeout: !soon 2h"}},

	{"variables", []string{"${TASKS}", "${NOT_SET}", "gs://reports/exports", "gs://${reports", "2h", "${2h}"}},
	{"a variable cannot change the structure", []string{"database: main}\nsink", "database: \"${INJECTED}\"}\nsink"}},
	{"a value from a variable is shown as written", []string{"database: main}\nsink", "database: \"${USER_DB_PASSWORD}\"}\nsink"}},
	{"an empty variable", []string{"2h", "${EMPTY}"}},

	{"a secret in the place of a name", []string{"      key: id\n", "      key: x${USER_DB_PASSWORD}\n", "- total", "- ${USER_DB_PASSWORD}", "SELECT id, name FROM users", "SELECT id, id AS `${USER_DB_PASSWORD}`, `${USER_DB_PASSWORD}` FROM users"}},
	{"secrets that are not set", []string{"${USER_DB_PASSWORD}", "${NOT_SET}"}},
	{"secrets under a misspelt name", []string{"dsn: ", "dns: ", "redis: redis://127", "redsi: redis://:" + canary + "@127"}},
	{"a secret cut by a comma", []string{`"app:${USER_DB_PASSWORD}@tcp(db:3306)/app"`, "app:pa,s/s@w0rd-7Qx@tcp(db)/x"}},
	{"a DSN in the place of the mapping", []string{`{dsn: "app:${USER_DB_PASSWORD}@tcp(db:3306)/app"}`, "app:" + canary + "@tcp(db)/x"}},
	{"a DSN in the place of its file", []string{`dsn: "app`, `dsn_file: "app`}},
	{"bad URLs and DSNs", []string{"redis://127.0.0.1:6379/0", "redis://:" + canary + "%zz@host", "@tcp(db:3306)/app", "@db:3306/app"}},
	{"a Redis db that is no number", []string{"6379/0", "6379/main"}},
	{"both forms of a secret", []string{"redis: redis", "redis:\n  url_file: redis\n  url: redis", "{dsn:", "{dsn_file: dsn, dsn:"}},
	{"no Redis", []string{"redis: redis://127.0.0.1:6379/0", "redis: {}"}},
	{"a URL and a sentinel", []string{"redis: redis://127.0.0.1:6379/0", "redis: {url: \"redis://x\", sentinel: {master: m, addresses: [\"h:26379\"]}}"}},
	{"a URL and a cluster", []string{"redis: redis://127.0.0.1:6379/0", "redis: {url: \"redis://x\", cluster: [\"h:6379\"]}"}},
	{"a db in a cluster", []string{"redis: redis://127.0.0.1:6379/0", "redis: {db: 1, cluster: [\"h:6379\"]}"}},
	{"a cluster of nothing", []string{"redis: redis://127.0.0.1:6379/0", "redis: {partitions: 0, cluster: []}"}},
	{"fields of a sentinel beside a URL", []string{"redis: redis://127.0.0.1:6379/0", "redis: {url: \"redis://x\", user: " + canary + "x, db: 3, tls: true}"}},
	{"a sentinel without its parts", []string{"redis: redis://127.0.0.1:6379/0", "redis: {sentinel: {}}"}},
	{"a sentinel that is no server", []string{"redis: redis://127.0.0.1:6379/0", "redis: {sentinel: {master: m, addresses: [host, \"h:0\", \"h:26379\"]}}"}},
	{"certificates without TLS", []string{"redis: redis://127.0.0.1:6379/0", "redis: {url: \"redis://x\", ca_file: ca.pem}", "{dsn:", "{ca_file: ca.pem, cert_file: ca.pem, dsn:"}},
	{"certificates without TLS of a sentinel", []string{"redis: redis://127.0.0.1:6379/0", "redis: {ca_file: ca.pem, sentinel: {master: m, addresses: [\"h:1\"]}}"}},
	{"files that are no certificates", []string{"redis: redis://127.0.0.1:6379/0", "redis: {url: \"rediss://x\", ca_file: fund.password, cert_file: ca.pem, key_file: fund.password}", "{dsn:", "{cert_file: ca.pem, key_file: fund.password, dsn:"}},
	{"a certificate beside a DSN with tls", []string{"tcp(db:3306)/app", "tcp(db:3306)/app?parseTime=1&tls=skip-verify", "{dsn:", "{ca_file: ca.pem, dsn:"}},
	{"secret files that are no use", []string{"redis: redis://127.0.0.1:6379/0", "redis: {url_file: empty}", `dsn: "app:${USER_DB_PASSWORD}@tcp(db:3306)/app"`, "dsn_file: forbidden"}},
	{"a secret file with something else", []string{`dsn: "app:${USER_DB_PASSWORD}@tcp(db:3306)/app"`, "dsn_file: bad-dsn"}},
	{"a password twice", []string{`/app"`, `/app", password_file: fund.password`}},
	{"a password without user", []string{`app:${USER_DB_PASSWORD}@`, ``, `/app"`, `/app", password_file: fund.password`}},
	{"a password for a DSN from a file", []string{`dsn: "app:${USER_DB_PASSWORD}@tcp(db:3306)/app"`, `dsn_file: dsn, password_file: fund.password`}},
	{"max_connections", []string{`/app"`, `/app", max_connections: 0`}},
	{"a database's name", []string{"  main: {", "  main db: {"}},
	{"names of files", []string{"    file:\n", "    file:\n      name: \"{ids} {sinze} {id}\"\n", "since: date", "since: date\n      ids: {type: integer, list: true}"}},
	{"a parameter that only the name of the file has", []string{"    file:\n", "    file:\n      name: \"orders-{day}\"\n", "since: date", "since: date\n      day: date\n      tag: string"}},
	{"sinks", []string{"gs://reports/exports", "nowhere://reports"}},
	{"a relative directory", []string{"gs://reports/exports", "file://var/lib"}},
	{"a bucket with a query", []string{"gs://reports/exports", "gs://reports/exports?x=y"}},
	{"a spool", []string{"sink:", "spool: nowhere://spool\nsink:"}},
	{"a spool without a place", []string{"sink:", "spool: {above: 1B}\nsink:"}},
	{"a spool with a field of another sink", []string{"sink:", "spool: {url: gs://reports/spool, above: 2GB, endpoint: \"https://minio.example\"}\nsink:"}},
	{"limits", []string{`tasks: "${TASKS}"`, "tasks: many, large_files: 0, running_jobs: 1.5, recover_after: 1, lease: -1s"}},

	{"limits of time and memory", []string{`tasks: "${TASKS}"`, "shutdown_timeout: soon, redis_memory_percent: 101, job_bytes: 1.5GB, spool_bytes: 100KB, rebuild_per_second: 0"}},
	{"queries without quotes in a flow mapping", []string{`query: "SELECT id, name FROM users"}`, "query: SELECT id, COUNT(a, b) AS name FROM users}", `query: "SELECT id, total FROM orders WHERE day >= :since"`, "query: SELECT id, total FROM orders WHERE day >= :since"}},
	{"commas without a column", []string{"SELECT id, name FROM users", "SELECT id, name, FROM users", "SELECT id, total FROM", "SELECT id,, total FROM", "SELECT id, item FROM items WHERE", "SELECT , id, item, /* none */ FROM items WHERE"}},
	{"a kind of listener that is not known", []string{"shop.orders: {", "shop.orders: {kind: oracle,"}},
	{"a kind of listener that is misspelt", []string{`shop.users: {database: main, query: "SELECT id, name FROM users"}`, "shop.users: {kind: htpp, api: a, result: {get: /x}, columns: {id: /id}}"}},
	{"a format that is misspelt", []string{"    file:\n", "    file:\n      format: xlxs\n      sheet: Orders\n      delimiter: \";;\"\n      colour: red\n"}},
	{"a sink that is misspelt", []string{"sink: gs://reports/exports", "sink: {url: \"s4://reports\", region: eu, secret_key: " + canary + ", gcs: 1}"}},
	{"a kind of listener that is no text", []string{"shop.orders: {", "shop.orders: {kind: [mysql],"}},
	{"an external listener without columns", []string{`shop.users: {database: main, query: "SELECT id, name FROM users"}`, "shop.users: {kind: external}"}},
	{"an external listener with a query", []string{"shop.users: {database", "shop.users: {kind: external, columns: [id], database"}},
	{"columns of an external listener", []string{`shop.users: {database: main, query: "SELECT id, name FROM users"}`, "shop.users: {kind: external, silence: soon, columns: [id, {name: name, type: varchar}]}"}},
	{"a short token of an external listener", []string{`shop.users: {database: main, query: "SELECT id, name FROM users"}`, "shop.users: {kind: external, columns: [id, name], token: secret}"}},
	{"a column of an external listener without name", []string{`shop.users: {database: main, query: "SELECT id, name FROM users"}`, "shop.users: {kind: external, columns: [id, {type: text}]}"}},
	{"a column that an external listener has not", []string{`shop.users: {database: main, query: "SELECT id, name FROM users"}`, "shop.users: {kind: external, columns: [user_id, name]}"}},
	{"a name of a query and of a service", []string{"reports:", "reports:\n  other: {listeners: {shop.users: {kind: external, columns: [id]}}}"}},
	{"a compression that is not known", []string{`tasks: "${TASKS}"`, "redis_compression: gzip"}},
	{"a locale whose decimal sign is the delimiter", []string{"    file:\n", "    file:\n      locale: de\n      delimiter: \",\"\n"}},
	{"locales that are none", []string{"    file:\n", "    file:\n      locale: german\n      thousands: true\n"}},
	{"a locale as programs write it", []string{"    file:\n", "    file:\n      locale: de_DE\n"}},
	{"a locale of no country", []string{"    file:\n", "    file:\n      locale: de-XX\n"}},
	{"a locale with other digits", []string{"    file:\n", "    file:\n      locale: fa\n"}},
	{"groups of digits without a locale", []string{"    file:\n", "    file:\n      thousands: true\n"}},
	{"columns from no parameter", []string{"    file:\n", "    file:\n      columns_from: sinse\n"}},
	{"columns from a date", []string{"    file:\n", "    file:\n      columns_from: since\n"}},
	{"columns from options that are none", []string{"since: date", "since: date\n      columns: {list: true, default: [], options: [id, Itm]}", "    file:\n", "    file:\n      columns_from: columns\n"}},
	{"files without an archive", []string{"    file:\n", "    file:\n      split: {rows: 1000}\n"}},
	{"a number of rows without its name", []string{"    file:\n", "    file:\n      compress: zip\n      split: 1000\n"}},
	{"a size of files", []string{"    file:\n", "    file:\n      compress: zip\n      split: 10MB\n"}},
	{"files of no rows", []string{"    file:\n", "    file:\n      compress: zip\n      split: {rows: 0}\n"}},
	{"files without a number of rows", []string{"    file:\n", "    file:\n      compress: zip\n      split: {}\n"}},
	{"a job of no bytes", []string{`tasks: "${TASKS}"`, "job_bytes: 0"}},
	{"a job and a fold of a few bytes", []string{`tasks: "${TASKS}"`, "job_bytes: 5, fold_memory: 10"}},
	{"a lease that no renewal keeps", []string{`tasks: "${TASKS}"`, "lease: 1ms, recover_after: 1ms"}},
	{"a fold of too many bytes", []string{`tasks: "${TASKS}"`, "fold_memory: 9GB"}},
	{"a job of too many bytes", []string{`tasks: "${TASKS}"`, "job_bytes: 1025GB"}},
	{"an address without port", []string{"sink:", "admin: localhost\nsink:"}},
	{"an address with another port", []string{"sink:", "admin: localhost:http\nsink:"}},
	{"an address that is a URL", []string{"sink:", "admin: http://localhost:9464\nsink:"}},
	{"an address without host", []string{"sink:", "admin: :9464\nsink:"}},
	{"nothing that signs", []string{"    listeners:\n      shop", "    notify: {url: \"https://x.example/?a=b\"}\n    listeners:\n      shop"}},
	{"a signature that can be guessed", []string{"    listeners:\n      shop", "    notify: {url: \"https://x.example\", secret: \"whsec_${EMPTY}aGVsbG8=\", retry: {retries: -1}}\n    listeners:\n      shop"}},
	{"nobody to tell", []string{"    listeners:\n      shop", "    notify: {secret: \"whsec_aGVsbG8gd29ybGQgaGVsbG8gd29ybGQh\", timout: 1s}\n    listeners:\n      shop"}},
	{"a key that can be guessed", []string{"sink:", "http: {link_secret: \"${USER_DB_PASSWORD}\", url: \"reports.example.com\"}\nsink:"}},
	{"pages that are no origins", []string{"sink:", "http:\n  frame_ancestors: [\"https://admin.example.com/\", \"*\", \"https://*.example.com\"]\n  cors: [\"https://Admin.example.com\", \"https://admin.example.com:443\", \"null\", \"http://[::1]:8081\"]\nsink:"}},
	{"frames without links", []string{"sink:", "http: {frame_ancestors: [\"https://admin.example.com\"]}\nsink:"}},
	{"a key that is empty", []string{"sink:", "http: {link_secret: \"${EMPTY}\", url: \"https://reports.example.com/?a=b\"}\nsink:"}},
	{"traces without a collector", []string{"sink:", "traces: {sample: 2, timeout: 1h, queue: 0}\nsink:"}},
	{"a collector that cannot be used", []string{"sink:", "traces: {url: \"http://u:s/s@w0rd-7Qx@collector\", sample: -1, headers: {Host: x, a: \"${EMPTY}\"}}\nsink:"}},
	{"an address that is a list", []string{"sink:", "admin: [::1]:9464\nsink:"}},

	{"characters in keys", []string{"sink:", "redis_keys: {prefix: \"fan fold:\", hash: \"{Record}-\"}\nsink:"}},
	{"patterns in keys", []string{"sink:", "redis_keys: {prefix: \"fanfold:*\", hash: \"Record?\"}\nsink:"}},
	{"more patterns in keys", []string{"sink:", "redis_keys: {prefix: \"fanfold[1]:\", hash: 'Record\\-'}\nsink:"}},
	{"control characters in keys", []string{"sink:", "redis_keys: {prefix: \"fanfold\\0\", hash: \"Record\\u2028\"}\nsink:"}},
	{"empty and long keys", []string{"sink:", "redis_keys: {prefix: \"${EMPTY}\", hash: " + strings.Repeat("x", 65) + "}\nsink:"}},
	{"keys that are the same", []string{"sink:", "redis_keys: {prefix: \"f:\", hash: \"f:\"}\nsink:"}},
	{"a hash that begins as the prefix", []string{"sink:", "redis_keys: {hash: \"fanfold:record-\"}\nsink:"}},
	{"a prefix that begins as the hash", []string{"sink:", "redis_keys: {prefix: \"FileDownloadRecordEntity-x:\"}\nsink:"}},
	{"a bad prefix and a hash that begins as the default", []string{"sink:", "redis_keys: {prefix: \"*\", hash: \"fanfold:record-\"}\nsink:"}},
	{"keys that are no mapping", []string{"sink:", "redis_keys: \"fanfold:\"\nsink:"}},
	{"other keys", []string{"sink:", "redis_keys: {perfix: x, hash: [x]}\nsink:"}},

	{"options of a file", []string{"    file:\n", "    file:\n      bom: yes\n      delimiter: \":\"\n      line_end: cr\n      null: NULL\n      time_zone: Berlin\n      date: YYYY-mm-dd\n      datetime: soon\n      formulas: quote\n      compress: rar\n      max_rows: 0\n      max_bytes: 6TB\n"}},
	{"a month where the minute was meant", []string{"    file:\n", "    file:\n      datetime: DD.MM.YYYY HH:MM\n"}},
	{"12 hours without AM", []string{"    file:\n", "    file:\n      datetime: DD.MM.YYYY hh:mm\n"}},
	{"AM without 12 hours", []string{"    file:\n", "    file:\n      datetime: HH:mm AM\n"}},
	{"a part of a form that comes twice", []string{"    file:\n", "    file:\n      date: DD.MM.YY YYYY\n      datetime: HH hh:mm AM\n"}},
	{"an option of a file with a wrong name", []string{"    file:\n", "    file:\n      delimeter: \";\"\n"}},
	{"a text for NULL with a delimiter", []string{"    file:\n", "    file:\n      null: \"a;b\"\n"}},
	{"an empty text for NULL in a file of one column", []string{"        - total\n        - {column: shop.items.item, label: Item}\n", "      null: \"\"\n"}},
	{"a label that is a formula", []string{"label: Item", "label: \"=Item\"", "    file:\n", "    file:\n      formulas: fail\n"}},
	{"a default that is a formula", []string{"shop.items: {database", "shop.items: {optional: {item: \"=1+1\"}, database", "    file:\n", "    file:\n      formulas: fail\n"}},
	{"a text for NULL that is a formula", []string{"    file:\n", "    file:\n      null: \"=NA()\"\n      formulas: escape\n"}},
	{"the zone of a database", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app\", time_zone: Berlin"}},
	{"a time zone in a DSN", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?charset=utf8mb4&time_zone=%27%2B02%3A00%27\""}},
	{"a time zone in a DSN with other letters", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?@@Session.Time_Zone=%27Europe%2FBerlin%27\""}},
	{"a time zone in a DSN behind another variable", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?sql_mode=%27%27%2C+time_zone%3D%27SYSTEM%27\""}},
	{"a duration in a DSN without a unit", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?timeout=10\""}},
	{"a duration in a DSN that is none", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?parseTime=true&readTimeout=x\""}},
	{"a negative duration in a DSN", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?writeTimeout=-5s\""}},
	{"a zone of the driver that does not exist", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?loc=Nope\""}},
	{"a switch in a DSN", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?parseTime=yes\""}},
	{"an option of a DSN that may hold a secret", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?parseTime=s3cretThatIsInTheWrongPlace\""}},
	{"certificates in a DSN", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?tls=custom\""}},
	{"a key in a DSN", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?serverPubKey=main\""}},
	{"strict in a DSN", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?strict=true\""}},
	{"an unsafe collation in a DSN", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?collation=gbk_chinese_ci&interpolateParams=true\""}},
	{"a packet in a DSN", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?maxAllowedPacket=64MB\""}},
	{"half an escape in a DSN", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/app?sql_mode=%2\""}},
	{"half an escape in a schema", []string{"@tcp(db:3306)/app\"", "@tcp(db:3306)/a%pp\""}},
	{"a port that does not exist", []string{"@tcp(db:3306)/app\"", "@tcp(db:99999)/app\""}},
	{"a port that is a name", []string{"@tcp(db:3306)/app\"", "@tcp(db:mysql)/app\""}},
	{"a network that does not exist", []string{"@tcp(db:3306)/app\"", "@cloudsql(db:3306)/app\""}},
	{"options of a file that are no single values", []string{"    file:\n", "    file:\n      delimiter: [\";\"]\n      null: {a: b}\n      max_bytes: []\n"}},

	{"records of an unknown database", []string{"database: main}\nsink", "database: mian}\nsink"}},
	{"record columns", []string{"database: main}\nsink", "database: main, table: a.b.c, columns: {id: '-', state: x, file: 'a b', report: one, error: ONE, parameters: '-'}}\nsink"}},
	{"optional in another form", []string{"shop.items: {database", "shop.items: {optional: maybe, database", "shop.users: {database", "shop.users: {optional: [name], database"}},
	{"values of columns that do not exist", []string{"shop.users: {database", "shop.users: {optional: {nam: x, id: }, database"}},
	{"optional without columns", []string{"shop.items: {database", "shop.items: {optional: {}, database"}},
	{"the first listener of the join is needed", []string{"shop.orders: {database", "shop.orders: {optional: true, database"}},
	{"a filter that can be left out", []string{"shop.users: {database", "shop.users: {optional: true, database", "shop.items: {database", "shop.items: {optional: {item: none}, database", "shop.users, type: left", "shop.users, type: inner", "shop.items, key", "shop.items, type: inner, key"}},
	{"no value for PARTIAL", []string{"shop.users: {database", "shop.users: {optional: true, database", "database: main}\nsink", "database: main, statuses: {PENDING: 0}}\nsink"}},
	{"record statuses", []string{"database: main}\nsink", "database: main, statuses: {PENDING: 0, FAILED: 0, SUCCES: 1, SUCCESS: processing}}\nsink"}},
	{"a filter that reaches out", []string{"database: main}\nsink", "database: main, filter: \"a = 1) OR (1 = 1\"}\nsink"}},
	{"a filter with a comment", []string{"database: main}\nsink", "database: main, filter: \"a = 1 -- \"}\nsink"}},
	{"a filter with a parameter", []string{"database: main}\nsink", "database: main, filter: \"a = :b\"}\nsink"}},
	{"a filter that does not end", []string{"database: main}\nsink", "database: main, filter: \"a = 'b\"}\nsink"}},

	{"a report's name", []string{"  orders:\n", "  Orders:\n"}},
	{"no listeners", []string{base[strings.Index(base, "    listeners"):], "    listeners: {}\n"}},
	{"listeners in a list", []string{base[strings.Index(base, "    listeners"):], "    listeners: [{database: main}]\n"}},
	{"a listener with nothing", []string{"{database: main, query: \"SELECT id, name FROM users\"}", "{}"}},
	{"names of listeners", []string{"shop.users: {database", "shop..users: {database", "shop.orders: {database", strings.Repeat("x", 101) + ": {database"}},
	{"two listeners of one name", []string{"shop.users: {database", "shop.orders: {database"}},
	{"a listener's database", []string{"shop.users: {database: main", "shop.users: {database: mein"}},
	{"timeout and batch", []string{"shop.users: {database", "shop.users: {timeout: 5 minutes, batch: 10, database"}},
	{"a report's timeout that is too short", []string{"timeout: 2h", "timeout: 8m\n    strict_timeout: true", "shop.users: {database", "shop.users: {timeout: 6m, database"}},
	{"a timeout that is too short without retries", []string{"timeout: 2h", "timeout: 8m\n    strict_timeout: true\n    retry: 0"}},
	{"a timeout that is too short for one listener", []string{"timeout: 2h", "timeout: 30m\n    strict_timeout: true", base[strings.Index(base, "      shop.items"):strings.Index(base, "    join")], "", base[strings.Index(base, "        - {name: shop.items, key"):strings.Index(base, "    file:")], "", "        - {column: shop.items.item, label: Item}\n", ""}},
	{"a timeout that is too short for one of many tries", []string{"timeout: 2h", "timeout: 8m\n    strict_timeout: true\n    retry: {retries: 0}", "shop.users: {database", "shop.users: {retry: {retries: 2, backoff: exponential, delay: 10s}, database"}},
	{"a listener that takes more than the longest timeout", []string{"timeout: 2h", "timeout: 720h\n    strict_timeout: true", "shop.items: {database", "shop.items: {timeout: 720h, retry: 100, database"}},
	{"retries that take more than the longest timeout", []string{"timeout: 2h", "retry: {retries: 100, delay: 720h}"}},
	{"a default that is more than the longest timeout", []string{"timeout: 2h", "retry: {retries: 1, delay: 400h}", "shop.items: {database", "shop.items: {retry: 0, database"}},
	{"a timeout where a listener's is wrong", []string{"timeout: 2h", "timeout: 1m", "shop.users: {database", "shop.users: {timeout: 5 s, database"}},
	{"retries", []string{"timeout: 2h", "retry: {retries: 101, delay: 0s, backoff: linear, max_delay: 721h}"}},
	{"other fields of retries", []string{"timeout: 2h", "retry: {retry: 3, exponential: true}", "shop.users: {database", "shop.users: {retry: [3], database"}},
	{"retries in short", []string{"timeout: 2h", "retry: -1", "shop.users: {database", "shop.users: {retry: exponential, database"}},
	{"a max_delay of a fixed delay", []string{"timeout: 2h", "retry: {max_delay: 2m}"}},
	{"a max_delay below the delay", []string{"timeout: 2h", "retry: {backoff: exponential, max_delay: 30s}", "shop.users: {database", "shop.users: {retry: {retries: 2}, database"}},
	{"a delay above the max_delay", []string{"timeout: 2h", "retry: {backoff: exponential, max_delay: 5m}", "shop.users: {database", "shop.users: {retry: {delay: 6m}, database"}},
	{"a listener's backoff that does not fit the report's delay", []string{"timeout: 2h", "retry: {retries: 1, delay: 2h}", "shop.users: {database", "shop.users: {retry: {backoff: exponential}, database"}},

	{"parameters", []string{"since: date", "since: date\n      a: text\n      1b: string\n      c: {type: integer, list: maybe, default: x}\n      d: {default: 1, typ: date}\n      e:", ":since", ":since + :a + :c + :d + :e"}},
	{"defaults of another type", []string{"since: date", "since: {type: date, default: 2024-02-30}\n      b: {type: boolean, default: yes}\n      l: {type: integer, list: true, default: [1, 2.5]}\n      m: {list: true, default: x}", ":since", ":since + :b + :l + :m"}},
	{"limits of a parameter", []string{"since: date", `since: {type: date, minimum: today, maximum: 2024-13-01}
      a: {type: boolean, options: [true], minimum: 0}
      b: {type: integer, minimum: 5, maximum: 4}
      c: {type: integer, minimum: 1, maximum: 9, options: [3, x]}
      d: {options: [a, B1], pattern: "[a-z]"}
      e: {pattern: "(a", options: []}
      f: {type: datetime, options: [2024-01-01 00:00:00], pattern: x}
      g: {type: date, minimum: ""}
      h: {type: decimal, minimum: 1e3, maximum: 999.99, default: 5}
      i: {type: date, options: [2024-01-01, month]}`, ":since", ":since + :a + :b + :c + :d + :e + :f + :g + :h + :i"}},
	{"defaults beyond the limits", []string{"since: date", `since: {type: date, maximum: 2024-01-31, default: 2024-02-01}
      a: {options: [vip, new], default: old}
      b: {type: integer, minimum: 5, list: true, default: [5, 4]}
      c: {pattern: "[a-z]+", default: x1}
      d: {type: date, options: [2024-01-01], default: month}
      e: {type: date, default: now}
      f: {type: date, default: today-30}
      g: {type: datetime, default: 2024-01-31 24:00:00}`, "day >= :since", "day >= :since AND a IN (:b) + :a + :c + :d + :e + :f + :g"}},
	{"a secret in the limits of a parameter", []string{"since: date", `since: {type: date, default: x}
      a: {options: ["${USER_DB_PASSWORD}"], default: x}
      b: {pattern: "${USER_DB_PASSWORD}", default: x}`, ":since", ":since + :a + :b"}},
	{"a report in an unknown zone", []string{"timeout: 2h", "timeout: 2h\n    time_zone: Berlin", "since: date", "since: {type: date, default: month-1}"}},
	{"a query parameter that nothing supplies", []string{":since", ":sinse"}},
	{"a list where one value is", []string{"since: date", "since: {type: date, list: true}", "id IN (:shop.orders.id)", "id = :shop.orders.id OR id IN (1, :shop.orders.id)"}},
	{"no query uses this parameter", []string{"since: date", "since: date\n      until: date"}},
	{"queries", []string{"SELECT id, name FROM users", "DELETE FROM users", "SELECT id, total FROM", "SELECT id, 'total FROM"}},
	{"all mistakes of a query", []string{"shop.users: {database: main, query: \"SELECT id, name FROM users\"}", "shop.users:\n        database: main\n        query: |-\n          -- ü\n          DELETE FROM users\n            WHERE id = :nope AND name IN (:shop.order.id) AND (name = ?\n              AND id = :since OR id = :shop.orders.id"}},
	{"mistakes in a folded query", []string{"shop.users: {database: main, query: \"SELECT id, name FROM users\"}", "shop.users:\n        database: main\n        query: >\n          SELECT id, name\n          FROM users\n\n          WHERE id = :nope\n            AND name = ?"}},
	{"a mistake in a plain query", []string{"shop.users: {database: main, query: \"SELECT id, name FROM users\"}", "shop.users:\n        database: main\n        query: SELECT id, name FROM users\n          WHERE id = :nope"}},
	{"a mistake in a query in single quotes", []string{"shop.users: {database: main, query: \"SELECT id, name FROM users\"}", "shop.users:\n        database: main\n        query: 'SELECT id, ''ü'' AS name\n          FROM users WHERE id = :nope'"}},
	{"a quote in a statement that writes", []string{"shop.users: {database: main, query: \"SELECT id, name FROM users\"}", "shop.users:\n        database: main\n        query: UPDATE users SET name = 'x"}},
	{"columns of a query in several lines", []string{"shop.users: {database: main, query: \"SELECT id, name FROM users\"}", "shop.users:\n        database: main\n        query: |-\n          SELECT id,\n            name,\n            COUNT(*),\n            id + 1\n          FROM users"}},
	{"a query with listed columns and a mistake", []string{"query: \"SELECT id, name FROM users\"", "columns: [id, name], query: \"SELECT * FROM users; SELECT 1\""}},
	{"two statements", []string{"FROM users", "FROM users; DELETE FROM users"}},
	{"a question mark", []string{"FROM users", "FROM users WHERE id = ?"}},
	{"a comment that the server runs", []string{"FROM users", "FROM users /*!50000 WHERE id = :since */"}},
	{"an empty query", []string{"SELECT id, name FROM users", " /* nothing */ "}},
	{"parentheses", []string{"SELECT id, name FROM users", "SELECT id, (name FROM users"}},
	{"columns that cannot be read", []string{"SELECT id, name FROM users", "SELECT u.*, 1 + 1 FROM users u"}},
	{"a query in both places", []string{"shop.users: {database", "shop.users: {query_file: sql/users.sql, database"}},
	{"files of queries that are no use", []string{"query: \"SELECT id, name FROM users\"", "query_file: users.sql", "query: \"SELECT id, item FROM items WHERE id IN (:shop.orders.id)\"", "query_file: empty", "query: \"SELECT id, total FROM orders WHERE day >= :since\"", "query_file: forbidden"}},
	{"files of queries that are no text", []string{"query: \"SELECT id, name FROM users\"", "query_file: sql/latin1.sql", "query: \"SELECT id, item FROM items WHERE id IN (:shop.orders.id)\"", "query_file: [sql]"}},
	{"a quote in a file that is not closed", []string{"query: \"SELECT id, name FROM users\"", "query_file: sql/quote.sql"}},
	{"a parenthesis in a file that is not closed", []string{"query: \"SELECT id, name FROM users\"", "query_file: sql/open.sql"}},
	{"two statements in a file", []string{"query: \"SELECT id, name FROM users\"", "query_file: sql/two.sql"}},
	{"names in a file that nothing supplies", []string{"query: \"SELECT id, name FROM users\"", "query_file: sql/names-of-nothing.sql"}},
	{"columns in a file that cannot be read", []string{"query: \"SELECT id, name FROM users\"", "query_file: sql/star.sql"}},
	{"columns of another number", []string{"SELECT id, name FROM users\"", "SELECT id, name FROM users\", columns: [id]"}},
	{"columns that are not allowed", []string{"SELECT id, name FROM users", "SELECT id, name AS `a#b`, id FROM users"}},
	{"columns that are no list", []string{"SELECT id, name FROM users\"", "SELECT id, name FROM users\", columns: id"}},
	{"no columns", []string{"SELECT id, name FROM users\"", "SELECT id, name FROM users\", columns: []"}},
	{"fields that collide", []string{"SELECT id, name FROM users", "SELECT id, 1 AS `vip.id` FROM users", "shop.items: {database", "shop.users.vip: {database", "name: shop.items, key", "name: shop.users.vip, key", "shop.items.item", "shop.users.vip.item"}},

	{"a listener that needs itself", []string{"FROM users", "FROM users WHERE id IN (:shop.users.id)"}},
	{"listeners that need one another", []string{"day >= :since", "day >= :since AND id IN (:shop.items.id)", "shop.users: {database", "shop.users: {after: [shop.items, shop.item], database"}},
	{"a column of nothing", []string{":shop.orders.id", ":shop.order.id"}},
	{"a column that an earlier listener does not give", []string{":shop.orders.id", ":shop.orders.di"}},
	{"two lists", []string{"(:shop.orders.id)", "(:shop.orders.id) OR id IN (:shop.users.id)"}},

	{"a fold that is no SELECT", []string{base[strings.Index(base, "    join"):], "    fold: |\n      SELECT o.id,\n      FROM shop.orders o\n"}},
	{"a fold with wrong names", []string{base[strings.Index(base, "    join"):], "    fold: |\n      SELECT o.id, u.nam\n      FROM shop.orders o\n      LEFT JOIN shop.users u ON u.id = o.id\n      JOIN shop.items i ON i.id = o.id\n"}},
	{"a fold with many mistakes", []string{"shop.users: {database", "shop.users: {optional: true, database", base[strings.Index(base, "    join"):], "    fold: |\n      SELECT o.idd, UPER(u.nam) AS n, SUM(o.total) AS s, i.item COLLATE klingon AS c,\n        EXTRACT(WEEK FROM o.id) AS w, x.id AS y, :until AS z, v.anything + v.other AS v\n      FROM shop.orders o\n      JOIN shop.users u ON u.id = o.id AND o.tootal > 1\n      LEFT JOIN shop.itmes v USING (id)\n      LEFT JOIN (SELECT id, itm FROM shop.items) i ON i.item = u.nome AND i.id = o.id\n      WHERE o.total = 1 AND COUNT(*) > 1 AND CAST(o.id AS DECIMAL(99,1)) > 1\n      GROUP BY o.idd HAVING w > 1 ORDER BY 12, o.ids\n"}},
	{"a fold in one line", []string{base[strings.Index(base, "    join"):], "    fold: SELECT COUNTT(*) FROM shop.orders\n"}},
	{"a fold of a listener that does not exist", []string{base[strings.Index(base, "    join"):], "    fold: \"SELECT id FROM shop.order\"\n"}},
	{"a fold beside a join", []string{"    join:", "    fold: SELECT o.id, i.item FROM shop.orders o JOIN shop.users USING (id) JOIN shop.items i USING (id)\n    join:"}},
	{"a fold that does not use a listener", []string{base[strings.Index(base, "    join"):], "    fold: SELECT id, total FROM shop.orders\n"}},
	{"a fold with a window", []string{base[strings.Index(base, "    join"):], "    fold: |\n      SELECT id, SUM(total) OVER () AS s FROM shop.orders\n"}},
	{"a fold whose parameter does not exist", []string{base[strings.Index(base, "    join"):], "    fold: |\n      SELECT o.id, i.item FROM shop.orders o JOIN shop.users u USING (id) JOIN shop.items i USING (id)\n      WHERE o.total > :least AND :since IS NOT NULL\n"}},
	{"an optional listener that a fold needs", []string{"shop.users: {database", "shop.users: {optional: true, database", "shop.items: {database", "shop.items: {optional: {item: none}, database", base[strings.Index(base, "    join"):], "    fold: |\n      SELECT o.id, i.item FROM shop.orders o\n      JOIN shop.users u USING (id) LEFT JOIN shop.items i USING (id)\n"}},
	{"a fold that cannot be read may use a parameter", []string{"since: date", "since: date\n      least: decimal", base[strings.Index(base, "    join"):], "    fold: SELECT id FROM shop.order WHERE total > :least\n"}},
	{"a condition that an optional listener must fulfil", []string{"shop.items: {database", "shop.items: {optional: true, database", base[strings.Index(base, "    join"):], "    fold: |\n      SELECT o.id, u.name, i.item FROM shop.orders o JOIN shop.users u USING (id)\n      LEFT JOIN shop.items i ON i.id = o.id\n      WHERE o.total > 1 AND i.item LIKE 'a%'\n"}},
	{"an inner join by an optional listener", []string{"shop.items: {database", "shop.items: {optional: true, database", base[strings.Index(base, "    join"):], "    fold: |\n      SELECT o.id, u.name, item FROM shop.orders o\n      LEFT JOIN shop.items i ON i.id = o.id\n      JOIN shop.users u ON u.id = i.id\n"}},
	{"a condition for the number of rows of an optional listener", []string{"shop.items: {database", "shop.items: {optional: true, database", base[strings.Index(base, "    join"):], "    fold: |\n      SELECT o.id, u.name FROM shop.orders o JOIN shop.users u USING (id)\n      LEFT JOIN shop.items i ON i.id = o.id\n      GROUP BY o.id, u.name HAVING COUNT(i.id) > 0\n"}},
	{"an inner join USING a column of an optional listener", []string{"shop.items: {database", "shop.items: {optional: true, database", base[strings.Index(base, "    join"):], "    fold: |\n      SELECT o.id, u.uid, item FROM shop.orders o\n      LEFT JOIN shop.items i ON i.id = o.id\n      JOIN (SELECT id AS uid, name AS item FROM shop.users) u USING (item)\n"}},
	{"a condition for a star of an optional listener", []string{"shop.items: {database", "shop.items: {optional: true, database", base[strings.Index(base, "    join"):], "    fold: |\n      SELECT q.oid, u.name FROM (SELECT o.id AS oid, i.* FROM shop.orders o LEFT JOIN shop.items i ON i.id = o.id) q\n      JOIN shop.users u ON u.id = q.oid WHERE q.item LIKE 'a%'\n"}},
	{"a condition for what an optional listener joins", []string{"shop.items: {database", "shop.items: {optional: true, database", base[strings.Index(base, "    join"):], "    fold: |\n      SELECT o.id, u.name FROM shop.orders o\n      LEFT JOIN shop.items i ON i.id = o.id\n      LEFT JOIN shop.users u ON u.name = i.item\n      WHERE u.id > 3\n"}},
	{"columns of a file that the fold does not have", []string{base[strings.Index(base, "    join"):], "    fold: SELECT o.id, i.item AS what FROM shop.orders o JOIN shop.users u USING (id) JOIN shop.items i USING (id)\n    file: {columns: [id, item]}\n"}},

	{"no join", []string{base[strings.Index(base, "    join"):], ""}},
	{"no key", []string{"      key: id\n", ""}},
	{"keys", []string{"      key: id\n", "      key: [id, id]\n"}},
	{"an empty key", []string{"      key: id\n", "      key: []\n"}},
	{"a key that a listener does not give", []string{"      key: id\n", "      key: name\n"}},
	{"keys of another number", []string{"items, key: id}", "items, key: [id, item]}"}},
	{"a joined listener's own key", []string{"items, key: id}", "items, key: itme}"}},
	{"joined listeners", []string{"        - shop.orders\n", "        - shop.order\n        - shop.users\n", "type: left", "type: outer"}},
	{"a join of no listener", []string{base[strings.Index(base, "      listeners:\n        - shop"):], "      listeners: []\n"}},
	{"a type for the first", []string{"        - shop.orders\n", "        - {name: shop.orders, type: full}\n"}},
	{"columns that differ in case", []string{"SELECT id, name FROM users", "SELECT id, ID, name FROM users"}},
	{"a listener without use", []string{"        - {name: shop.users, type: left}\n", ""}},

	{"a file without columns", []string{base[strings.Index(base, "      columns"):], "      columns: []\n"}},
	{"columns that nothing gives", []string{"- total", "- totl\n        - shop.items.itm\n        - {label: x}"}},
	{"a column that several give", []string{"SELECT id, name", "SELECT id, total"}},
	{"a column of a listener that is not joined", []string{"        - shop.orders\n", "", "shop.users, type: left", "shop.users", "- total", "- shop.orders.total"}},
	{"labels", []string{"- total", "- {column: total, label: Item}", "- id", "- {column: id, label: \"\"}"}},
	{"labels in the default list", []string{base[strings.Index(base, "    file:"):], "", "id, total", "id, x, total AS `shop.users.x`", "id, name", "id, x"}},
}

func TestProblems(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, c := range badFiles {
		file := strings.NewReplacer(c.edits...).Replace(base)
		for i := 0; i < len(c.edits); i += 2 {
			if n := strings.Count(base, c.edits[i]); n != 1 {
				t.Errorf("%s: base has %q %d times", c.name, c.edits[i], n)
			}
		}
		_, err := Load("f.yaml", []byte(file), testEnvironment(), TestKinds)
		var problems decode.Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: no Problems but %v", c.name, err)
			continue
		}
		if !slices.IsSortedFunc(problems, func(a, b decode.Problem) int { return order.Or(strings.Compare(a.File, b.File), a.Line-b.Line) }) {
			t.Errorf("%s: not sorted", c.name)
		}
		fmt.Fprintf(&got, "== %s\n%v\n", c.name, err)
	}
	for _, piece := range []string{canary, "s/s@w0rd", "w0rd"} {
		if strings.Contains(got.String(), piece) {
			t.Errorf("a message shows %q of the password", piece)
		}
	}
	const golden = "testdata/problems.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v (write it with: go test ./config -run TestProblems -update)", err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestBaseHasNoProblems(t *testing.T) {
	t.Parallel()
	if _, err := Load("f.yaml", []byte(base), testEnvironment(), TestKinds); err != nil {
		t.Error(err)
	}
}
