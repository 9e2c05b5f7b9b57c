package expr

import (
	"time"

	"github.com/fanfold/fanfold/fold/value"
)

// ZoneRemedy says what to do where datetimes of two time zones meet.
const ZoneRemedy = "Convert one of them with CONVERT_TZ, or give both databases one time_zone"

// zoned returns expressions whose datetimes are of one time zone: it converts instants, and refuses others.
func zoned(all ...*Expr) []*Expr {
	types := make([]value.Type, len(all))
	for i, e := range all {
		types[i] = e.Type
	}
	zone, why := value.ZoneOf(types...)
	if why != "" {
		at := all[0].at
		for _, e := range all {
			if e.Type.Kind == value.Datetime && e.Type.Zone == zone {
				at = e.at
			}
		}
		refuse(at, why, ZoneRemedy)
	}
	if zone == "" || zone == value.Instant {
		return all
	}
	into, err := time.LoadLocation(zone)
	if err != nil {
		refuse(all[0].at, "the time zone "+zone+" is not known", "Give its database a time_zone of the tz database")
	}
	converted := make([]*Expr, len(all))
	for i, e := range all {
		converted[i] = e
		if e.Type.Kind == value.Datetime && e.Type.Zone == value.Instant {
			converted[i] = e.in(into, zone)
		}
	}
	return converted
}

// in returns an instant as a datetime of a zone.
func (e *Expr) in(zone *time.Location, name string) *Expr {
	t := e.Type
	t.Zone = name
	converted := strict(t, []*Expr{e}, func(args []value.Value) (value.Value, error) {
		at, exists := args[0].GoTime()
		if !exists {
			return args[0], nil
		}
		return value.OfTime(at.In(zone)), nil
	})
	converted.constant, converted.at = e.constant, e.at
	return converted
}
