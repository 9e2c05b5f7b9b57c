package recovery

import (
	"context"
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
	id      int64       // of the connection
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
	var info *redis.ClientInfo
	if err = c.conn.Do(ctx, watch...).Err(); err == nil {
		info, err = c.conn.ClientInfo(ctx).Result()
	}
	if err != nil {
		c.end(ctx)
		return
	}
	c.id = info.ID
}

// seen tells whether a key has changed since begin, or may have.
func (c *changes) seen(ctx context.Context) bool {
	if c.conn == nil {
		return true
	}
	info, err := c.conn.ClientInfo(ctx).Result()
	return err != nil || info.Flags&redis.ClientDirtyCAS != 0 || info.ID != c.id
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
