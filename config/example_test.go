package config_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/dialect"
)

const file = `
redis: redis://127.0.0.1:6379/0
databases:
  shop: {dsn: "app:${PASSWORD}@tcp(127.0.0.1:3306)/shop"}
records: {database: shop}
sink: file:///var/lib/fanfold
reports:
  orders:
    parameters:
      since: date
    listeners:
      orders: {database: shop, query: "SELECT id, total FROM orders WHERE day >= :since"}
`

func environment() decode.Environment {
	return decode.Environment{Lookup: func(name string) (string, bool) { return "secret", name == "PASSWORD" }}
}

func ExampleLoad() {
	c, err := config.Load("fanfold.yaml", []byte(file), environment(), kinds.Standard().Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	orders := c.Reports["orders"]
	values, _ := orders.Bind([]byte(`{"since": "2024-01-01"}`), time.Now())
	sql, args, _ := dialect.QueryOf(&orders.Stages[0].Listeners[0]).Bind(func(name string) (any, bool) {
		v, ok := values[name]
		return v, ok
	})
	fmt.Println(sql, args)
	fmt.Println(c.Databases["shop"].DSN)
	// Output:
	// SELECT id, total FROM orders WHERE day >= ? [2024-01-01]
	// ***
}

func ExampleLoad_problems() {
	broken := strings.NewReplacer("since: date", "sinse: date", "file:///var", "file://var").Replace(file)
	_, err := config.Load("fanfold.yaml", []byte(broken), environment(), kinds.Standard().Config())
	fmt.Println(err)
	// Output:
	// fanfold.yaml:6:7: sink: a file:// URL cannot have a host (value "file://var/lib/fanfold"). Write file:///directory
	// fanfold.yaml:10:14: reports.orders.parameters.sinse: no query uses this parameter (value "date"). Use :sinse in a query, or remove it
	// fanfold.yaml:12:82: reports.orders.listeners.orders.query: unknown query parameter :since (value "SELECT id, total FROM orders WHERE day >= :since"). Did you mean :sinse? Or add since: string to the report's parameters
}
