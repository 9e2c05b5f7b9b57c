package expr

import (
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/fold/value"
	"github.com/fanfold/fanfold/report"
)

// convertZone computes CONVERT_TZ: NULL if a zone does not exist.
func convertZone(c *call) *Expr {
	t := value.Type{Kind: value.Datetime, Scale: fractionScale(c.args[0], value.Datetime)}
	if name, ok := constantOf(c.args[2]); ok && !name.IsNull() {
		if zone := zoneOf(string(textOf(name, c.args[2]))); zone != nil && !strings.Contains(zone.String(), ":") {
			t.Zone = zone.String()
		}
	}
	zones := map[string]*time.Location{}
	find := func(v value.Value, e *Expr) *time.Location {
		name := string(textOf(v, e))
		if zone, known := zones[name]; known {
			return zone
		}
		zones[name] = zoneOf(name)
		return zones[name]
	}
	return strict(t, c.args, func(args []value.Value) (value.Value, error) {
		v := value.ToTemporal(args[0], value.Datetime)
		from, to := find(args[1], c.args[1]), find(args[2], c.args[2])
		at, exists := v.GoTime()
		if v.IsNull() || !exists || from == nil || to == nil {
			return value.Value{}, nil
		}
		local := report.Reaches(at, from) // a skipped or repeated hour is read as by MariaDB
		if s := local.Unix(); s < 1 || s > 1<<31-1 {
			return v, nil // as MariaDB, which converts what a TIMESTAMP can have
		}
		return value.OfTime(local.In(to)), nil
	})
}

// zoneOf returns a zone of the tz database, or an offset such as +02:00; nil: there is none.
func zoneOf(name string) *time.Location {
	if len(name) >= 5 && (name[0] == '+' || name[0] == '-') {
		hours, minutes, ok := strings.Cut(name[1:], ":")
		h, errH := strconv.Atoi(hours)
		m, errM := strconv.Atoi(minutes)
		if !ok || errH != nil || errM != nil || h > 14 || m > 59 {
			return nil
		}
		offset := h*3600 + m*60
		if name[0] == '-' {
			offset = -offset
		}
		return time.FixedZone(name, offset)
	}
	if name == "" || name == "Local" || name == "SYSTEM" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}

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
