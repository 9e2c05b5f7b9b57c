package redisdb

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

// Server returns the options of connections to the server that a client uses now, for people who
// want to look at it. With Sentinel that is the master; its Addr is empty if no Sentinel answers.
func Server(ctx context.Context, r report.Redis, client *redis.Client) redis.Options {
	o := *client.Options()
	if r.Sentinel.Master == "" {
		return o
	}
	o.Addr = ""
	for _, address := range r.Sentinel.Addresses {
		s := redis.NewSentinelClient(&redis.Options{
			Addr: address, Username: r.Sentinel.User, Password: r.Sentinel.Password.Reveal(), TLSConfig: o.TLSConfig,
			ContextTimeoutEnabled: true, DisableIdentity: true,
		})
		found, err := s.GetMasterAddrByName(ctx, r.Sentinel.Master).Result()
		_ = s.Close()
		if err == nil && len(found) == 2 {
			o.Addr = net.JoinHostPort(found[0], found[1])
			return o
		}
	}
	return o
}
