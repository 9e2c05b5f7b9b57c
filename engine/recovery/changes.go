package recovery

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// changes tells whether keys have changed, at a cost that does not depend on their content. Redis
// marks a connection that watches keys (WATCH) when one of them changes, whoever changes it, and
// CLIENT INFO shows it as the flag d. The connection has no other use; losing it counts as a
// change.
type changes struct {
	scripts *scripts.Scripts
	conn    *redis.Conn // nil: it does not watch
	id      string      // of the connection
}

// begin starts to watch.
func (c *changes) begin(ctx context.Context, keys []string) {
	c.end(ctx)
	node, err := c.scripts.Node(ctx)
	if err != nil {
		return
	}
	c.conn = node.Conn()
	watch := []any{"watch"}
	for _, k := range keys {
		watch = append(watch, k)
	}
	err = c.conn.Do(ctx, watch...).Err()
	if err == nil {
		c.id, _, err = c.info(ctx)
	}
	if err != nil {
		c.end(ctx)
	}
}

// seen tells whether a key has changed since begin, or may have.
func (c *changes) seen(ctx context.Context) bool {
	if c.conn == nil {
		return true
	}
	id, changed, err := c.info(ctx)
	return err != nil || changed || id != c.id
}

// info returns the id of the connection and whether a watched key has changed.
func (c *changes) info(ctx context.Context) (id string, changed bool, err error) {
	text, err := c.conn.Do(ctx, "client", "info").Text()
	for field := range strings.FieldsSeq(text) {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "id":
			id = value
		case "flags":
			changed = strings.Contains(value, "d")
		}
	}
	return id, changed, err
}

// end stops watching.
func (c *changes) end(ctx context.Context) {
	if c.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = c.conn.Do(ctx, "unwatch").Err() // if it fails, the connection is not used again
	_ = c.conn.Close()
	c.conn = nil
}
