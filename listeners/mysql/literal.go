package mysql

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// literals returns the values of an earlier stage as one list of SQL literals, so that the query runs
// once and the server compares them as constants. packet is the maximum length of a statement.
//
// Literals, and not placeholders, of which a statement has 65,535; nor a temporary
// table, which needs a grant, and whose column has a collation that can be at odds with
// that of the query's.
func (r *reader) literals(ctx context.Context, packet int) (dialect.Literals, error) {
	from := r.task.Listener.From
	column, values := r.task.Distinct(ctx)
	text, _, err := r.bind(dialect.Literals(""))
	if err != nil {
		return "", err
	}
	limit, remedy := maxStatement, fmt.Sprintf("reduce the result of %s", from.Listener)
	if packet < limit {
		limit, remedy = packet, fmt.Sprintf("raise max_allowed_packet of database %s, up to %d MiB, or %s",
			r.task.Listener.Source, maxStatement>>20, remedy)
	}
	uses := dialect.QueryOf(r.task.Listener).Uses(from.String())
	budget := (limit - len(text) - packetMargin) / max(1, uses)
	var list strings.Builder
	count := 0
	for raw, err := range values {
		if err != nil {
			return "", err
		}
		if count++; count > 1 {
			list.WriteByte(',')
		}
		if err := writeLiteral(&list, column, raw); err != nil {
			return "", listeners.Permanent(fmt.Errorf("value of %s: %w", from, err))
		}
		if list.Len() > budget {
			return "", listeners.Permanent(fmt.Errorf("the first %d values of %s need more than the maximum of %d MiB of a statement: %s", count, from, limit>>20, remedy))
		}
	}
	return dialect.Literals(list.String()), nil
}

const (
	// packetMargin is for the header of a statement in the protocol.
	packetMargin = 1024
	// maxStatement is the maximum length of a statement on any server: sending one takes about
	// six times its length in memory (measured).
	maxStatement = 64 << 20
)

// writeLiteral writes the JSON scalar of a column as the SQL constant that compares as
// the column's own value does.
func writeLiteral(out *strings.Builder, column dataset.Column, raw []byte) error {
	switch raw[0] {
	case 't':
		out.WriteString("TRUE")
		return nil
	case 'f':
		out.WriteString("FALSE")
		return nil
	case '"':
		return writeString(out, column.Kind, raw)
	}
	if !json.Valid(raw) {
		return fmt.Errorf("not JSON: %.40q", raw)
	}
	if column.Kind != report.KindFloat {
		out.Write(raw) // a JSON number is an SQL number, with all of its digits
		return nil
	}
	// A FLOAT is compared as the double that it is: 0.1 as 0.10000000149011612.
	size := column.Bits
	if size != 32 {
		size = 64
	}
	f, err := strconv.ParseFloat(string(raw), size)
	if err != nil {
		return err
	}
	out.WriteString(strconv.FormatFloat(f, 'e', -1, 64))
	return nil
}

// writeString writes a JSON string.
func writeString(out *strings.Builder, kind report.Kind, raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	switch {
	case kind == report.KindBinary:
		octets, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return err
		}
		out.WriteString("x'" + hex.EncodeToString(octets) + "'")
	case kind == report.KindDecimal && isDecimal(text):
		out.WriteString(text)
	case strings.ContainsFunc(text, func(c rune) bool { return c == '\\' || c < ' ' || c == 0x7f }):
		// What a backslash means depends on the session's sql_mode.
		out.WriteString("_utf8mb4 x'" + hex.EncodeToString([]byte(text)) + "'")
	default:
		out.WriteString("'" + strings.ReplaceAll(text, "'", "''") + "'")
	}
	return nil
}

// isDecimal reports whether a text is an exact number in SQL.
func isDecimal(text string) bool {
	whole, fraction, dot := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	return digits(whole) && (!dot || digits(fraction))
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
