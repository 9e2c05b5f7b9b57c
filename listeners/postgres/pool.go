package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// idleTime is how long a connection is kept for the next query.
const idleTime = 5 * time.Minute

// pool has the connections to a database. It is safe for concurrent use.
type pool struct {
	config *pgconn.Config
	taken  chan struct{} // a slot for every connection in use

	mu     sync.Mutex
	idle   []*idle // the one that was used last is the last
	closed bool
}

// idle is a connection that waits for the next query.
type idle struct {
	conn *pgconn.PgConn
	end  *time.Timer
}

func newPool(config *pgconn.Config, size int) *pool {
	return &pool{config: config, taken: make(chan struct{}, size)}
}

// take waits for a slot and returns a connection. A reused one may be broken: then give it back and take another.
func (p *pool) take(ctx context.Context) (conn *pgconn.PgConn, reused bool, err error) {
	select {
	case p.taken <- struct{}{}:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	if conn := p.last(); conn != nil {
		return conn, true, nil
	}
	if conn, err = pgconn.ConnectConfig(ctx, p.config); err != nil {
		<-p.taken
		return nil, false, err
	}
	return conn, false, nil
}

// last takes the idle connection that was used last; nil: there is none.
func (p *pool) last() *pgconn.PgConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	one := p.idle[n-1]
	p.idle = p.idle[:n-1]
	one.end.Stop()
	return one.conn
}

// give returns a connection that can be used again.
func (p *pool) give(conn *pgconn.PgConn) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		p.drop(conn)
		return
	}
	one := &idle{conn: conn}
	one.end = time.AfterFunc(idleTime, func() {
		if p.forget(one) {
			closeSoon(conn)
		}
	})
	p.idle = append(p.idle, one)
	p.mu.Unlock()
	<-p.taken
}

// forget removes an idle connection, and reports whether it was idle.
func (p *pool) forget(one *idle) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.idle {
		if other == one {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return true
		}
	}
	return false
}

// drop closes a connection. If a context ended its query, the driver already cancels that on the server and closes
// the connection: drop waits for it, so that the server has no more connections than the pool.
func (p *pool) drop(conn *pgconn.PgConn) {
	defer func() { <-p.taken }()
	if !conn.IsClosed() {
		closeSoon(conn)
		return
	}
	late := time.NewTimer(cleanupTime)
	defer late.Stop()
	select {
	case <-conn.CleanupDone():
	case <-late.C:
		_ = conn.Conn().Close()
	}
}

// closeSoon closes a connection, and says so to a server that answers.
func closeSoon(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTime)
	defer cancel()
	_ = conn.Close(ctx)
}

// close closes the idle connections; those in use are closed when they are given back.
func (p *pool) close() {
	p.mu.Lock()
	all := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, one := range all {
		one.end.Stop()
		closeSoon(one.conn)
	}
}
