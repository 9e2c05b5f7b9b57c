package operate

import (
	"context"
	"errors"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/record"
)

// MaxUnfinished is the maximum number of records of a person that Place lets wait or run. Orders at the same time may
// exceed it by their number.
const MaxUnfinished = 20

// ErrUnfinished is the error of Place for a person with MaxUnfinished such records.
var ErrUnfinished = errors.New("too many records of this person have not ended")

// Orders creates the records of persons who order for themselves.
type Orders struct{ in *inspect.Inspector }

// Place is CreateOnce of Jobs for a person.
func (o Orders) Place(ctx context.Context, key string, of record.Request) (id string, err error) {
	id, _, err = Jobs(o).create(ctx, of, func(of record.Request) (id string, before bool, err error) {
		before, err = o.in.Records.Requested(ctx, key)
		if err == nil && !before {
			n, err := o.in.Records.People().Unfinished(ctx, of.Owner, of.Tenant, MaxUnfinished)
			if err != nil && !errors.Is(err, record.ErrNoIndex) { // without an index, nobody counts
				return "", false, err
			} else if n >= MaxUnfinished {
				return "", false, fault.Refused.New("%w", ErrUnfinished)
			}
		}
		if err != nil {
			return "", false, err
		}
		return o.in.Records.InsertOnce(ctx, key, of)
	})
	return id, err
}
