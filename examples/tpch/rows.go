package tpch

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Table is a table of the benchmark.
type Table struct {
	Name, Place string // Place is the database, or geography for the API
	Columns     string // as CREATE TABLE has them
}

// Tables are all tables; each one stands after those that it refers to.
var Tables = []Table{
	{"region", "geography", "r_regionkey INT PRIMARY KEY, r_name VARCHAR(25)"},
	{"nation", "geography", "n_nationkey INT PRIMARY KEY, n_name VARCHAR(25), n_regionkey INT"},
	{"supplier", "purchasing", "s_suppkey INT PRIMARY KEY, s_name CHAR(25), s_address VARCHAR(40), s_nationkey INT, " +
		"s_phone CHAR(15), s_acctbal DECIMAL(15,2), s_comment VARCHAR(101)"},
	{"part", "catalog", "p_partkey INT PRIMARY KEY, p_name VARCHAR(55), p_mfgr CHAR(25), p_brand CHAR(10), " +
		"p_type VARCHAR(25), p_size INT, p_container CHAR(10), p_retailprice DECIMAL(15,2)"},
	{"partsupp", "catalog", "ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15,2), " +
		"PRIMARY KEY (ps_partkey, ps_suppkey)"},
	{"customer", "sales", "c_custkey INT PRIMARY KEY, c_name VARCHAR(25), c_address VARCHAR(40), c_nationkey INT, " +
		"c_phone CHAR(15), c_acctbal DECIMAL(15,2), c_mktsegment CHAR(10), c_comment VARCHAR(117)"},
	{"orders", "sales", "o_orderkey INT PRIMARY KEY, o_custkey INT, o_orderstatus CHAR(1), o_totalprice DECIMAL(15,2), " +
		"o_orderdate DATE, o_orderpriority CHAR(15), o_clerk CHAR(15), o_shippriority INT, o_comment VARCHAR(79), KEY (o_custkey)"},
	{"lineitem", "sales", "l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15,2), " +
		"l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2), l_returnflag CHAR(1), " +
		"l_linestatus CHAR(1), l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct CHAR(25), " +
		"l_shipmode CHAR(10), PRIMARY KEY (l_orderkey, l_linenumber), KEY (l_partkey)"},
}

// Rows makes the rows of all tables, in the order of their columns, and passes them to emit until it returns an error.
// Scale 1 has 6 million items. The same scale and seed make the same rows.
func Rows(scale float64, seed uint64, emit func(table string, row ...any) error) error {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 0)), emit: emit}
	count := func(n float64) int { return max(1, int(n*scale)) }
	m.parts, m.suppliers, m.customers = count(200_000), max(4, count(10_000)), max(3, count(150_000))
	for i, name := range regions {
		m.add("region", i, name)
	}
	for i, n := range nations {
		m.add("nation", i, n.name, n.region)
	}
	for key := 1; key <= m.suppliers; key++ {
		nation, comment := m.IntN(len(nations)), m.text(100)
		if key%97 == 3 {
			comment = "Customer " + m.text(60) + " Complaints"
		}
		m.add("supplier", key, fmt.Sprintf("Supplier#%09d", key), m.text(30), nation, m.phone(nation),
			cents(m.between(-99_999, 999_999)), comment)
	}
	for key := 1; key <= m.parts; key++ {
		m.addPart(key)
	}
	for key := 1; key <= m.customers; key++ {
		nation := m.IntN(len(nations))
		m.add("customer", key, fmt.Sprintf("Customer#%09d", key), m.text(30), nation, m.phone(nation),
			cents(m.between(-99_999, 999_999)), m.one(segments), m.text(100))
	}
	for i := range count(1_500_000) {
		m.addOrder(i/8*32 + i%8 + 1) // as in the specification, the keys have gaps
	}
	return m.err
}

// maker makes rows.
type maker struct {
	*rand.Rand
	emit                        func(table string, row ...any) error
	err                         error
	parts, suppliers, customers int
}

func (m *maker) add(table string, row ...any) {
	if m.err == nil {
		m.err = m.emit(table, row...)
	}
}

func (m *maker) between(low, high int) int  { return low + m.IntN(high-low+1) }
func (m *maker) one(of []string) string     { return of[m.IntN(len(of))] }
func cents(n int) string                    { return fmt.Sprintf("%.2f", float64(n)/100) }
func day(t time.Time) string                { return t.Format(time.DateOnly) }
func after(t time.Time, days int) time.Time { return t.AddDate(0, 0, days) }

// text makes words of less than a length.
func (m *maker) text(length int) string {
	text := m.one(words)
	for n := m.between(length/4, length/2); len(text) < n; {
		text += " " + m.one(words)
	}
	return text
}

func (m *maker) phone(nation int) string {
	return fmt.Sprintf("%d-%03d-%03d-%04d", nation+10, m.between(100, 999), m.between(100, 999), m.between(1000, 9999))
}

// price is the retail price of a part, in cents.
func price(part int) int { return 90_000 + part/10%20_001 + 100*(part%1000) }

// supplier returns one of the four suppliers of a part.
func (m *maker) supplier(part, i int) int {
	return (part+i*(m.suppliers/4+(part-1)/m.suppliers))%m.suppliers + 1
}

func (m *maker) addPart(key int) {
	name := ""
	for i, n := range m.Perm(len(colours))[:5] {
		if i > 0 {
			name += " "
		}
		name += colours[n]
	}
	maker := m.between(1, 5)
	m.add("part", key, name, fmt.Sprintf("Manufacturer#%d", maker), fmt.Sprintf("Brand#%d%d", maker, m.between(1, 5)),
		m.one(types[0])+" "+m.one(types[1])+" "+m.one(types[2]), m.between(1, 50),
		m.one(containers[0])+" "+m.one(containers[1]), cents(price(key)))
	seen := map[int]bool{} // a small scale has few suppliers
	for i := range 4 {
		if s := m.supplier(key, i); !seen[s] {
			seen[s] = true
			m.add("partsupp", key, s, m.between(1, 9999), cents(m.between(100, 100_000)))
		}
	}
}

// The dates of the specification.
var (
	firstOrder = time.Date(1992, 1, 1, 0, 0, 0, 0, time.UTC)
	today      = time.Date(1995, 6, 17, 0, 0, 0, 0, time.UTC)
)

const orderDays = 2405 // to 1998-08-02

func (m *maker) addOrder(key int) {
	customer := m.between(1, m.customers)
	if customer%3 == 0 { // a third of the customers has no order
		customer--
	}
	ordered := after(firstOrder, m.IntN(orderDays))
	total, open, items := 0, 0, m.between(1, 7)
	for line := 1; line <= items; line++ {
		part, quantity := m.between(1, m.parts), m.between(1, 50)
		extended, discount, tax := quantity*price(part), m.between(0, 10), m.between(0, 8)
		total += extended * (100 - discount) * (100 + tax) / 10_000
		shipped := after(ordered, m.between(1, 121))
		received := after(shipped, m.between(1, 30))
		flag, status := "N", "F"
		if !received.After(today) {
			flag = m.one([]string{"R", "A"})
		}
		if shipped.After(today) {
			status = "O"
			open++
		}
		m.add("lineitem", key, part, m.supplier(part, m.IntN(4)), line, quantity, cents(extended), cents(discount),
			cents(tax), flag, status, day(shipped), day(after(ordered, m.between(30, 90))), day(received),
			m.one(instructions), m.one(modes))
	}
	status := "P"
	switch open {
	case 0:
		status = "F"
	case items:
		status = "O"
	}
	m.add("orders", key, customer, status, cents(total), day(ordered), m.one(priorities),
		fmt.Sprintf("Clerk#%09d", m.between(1, 1000)), 0, m.text(60))
}
