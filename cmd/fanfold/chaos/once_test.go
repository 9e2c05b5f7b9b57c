package chaos

import (
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold/engine/files"
)

// In every second round, records ask the same question in groups of six, for two people: three jobs share a run.

func (r *round) shares() bool { return r.seed%2 == 0 }

// asks returns the number in the parameters of a record.
func (r *round) asks(id int) int {
	if r.shares() {
		return id - (id-1)%6
	}
	return id
}

// owner returns the person of a record.
func owner(id int) string { return []string{"ann", "bob"}[id%2] }

// once returns the field of the report.
func (r *round) once() string {
	if r.shares() {
		return "    once: {window: 3s}\n"
	}
	return ""
}

// made checks that a record may have a file: its own, or that of a record of the same person that asks the same.
func (r verdict) made(id int, file string) {
	maker, err := strconv.Atoi(files.Maker(file))
	switch {
	case err != nil:
		r.violated("record %d has the file %s, which names no record", id, file)
	case maker == id:
	case !r.shares() || r.asks(maker) != r.asks(id) || owner(maker) != owner(id):
		r.violated("record %d of %s has the file of record %d of %s", id, owner(id), maker, owner(maker))
	default:
		r.totals.add("records that share a file", 1)
	}
}

// row returns the values of a record.
func (r *round) row(id int) string {
	return fmt.Sprintf(`(%d, 'storm', '{"job": %d, "rows": %d}', '%s')`, id, r.asks(id), rowsOf(r.asks(id)), owner(id))
}
