package redisdb

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

// Hint says what in the configuration may be the cause of an error; empty: unknown.
func Hint(r report.Redis, err error) string {
	if err == nil {
		return ""
	}
	var slow net.Error
	text := err.Error()
	switch {
	case strings.Contains(text, "max number of clients reached"):
		return "raise maxclients of the server, or run fewer processes: doctor counts their connections"
	case redis.HasErrorPrefix(err, "NOAUTH"), redis.HasErrorPrefix(err, "WRONGPASS"),
		redis.HasErrorPrefix(err, "NOPERM"):
		return "correct the user, its password or its permissions"
	case strings.Contains(text, "cluster support disabled"):
		return "this server is not a node of a Redis Cluster: write redis.url instead of redis.cluster"
	case strings.Contains(strings.ToLower(text), "unknown command 'sentinel'"):
		return "this server is not a Sentinel: write the addresses of the Sentinels in redis.sentinel.addresses"
	case strings.Contains(text, "No such master with that name"), r.Sentinel.Master != "" &&
		errors.Is(err, redis.Nil), strings.Contains(text, "unreachable: redis: nil"):
		return "the Sentinels know no master with this name: correct redis.sentinel.master"
	case strings.Contains(text, "READONLY"):
		return "this server is a replica: write the address of its master, or redis.sentinel"
	case strings.Contains(text, "unknown authority"):
		return "write the authority that signed the server's certificate in redis.ca_file"
	case encrypted(r) && (errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout() ||
		strings.Contains(text, "tls: first record does not look like a TLS handshake")):
		return "if the server does not use TLS on this port, write redis:// or tls: false"
	case !encrypted(r) && (errors.Is(err, io.EOF) || strings.Contains(text, "connection reset by peer")):
		return "if the server uses TLS on this port, write rediss:// or tls: true"
	}
	return ""
}

func encrypted(r report.Redis) bool {
	scheme, _, _ := strings.Cut(r.URL.Reveal(), "://")
	return r.Encrypt || scheme == "rediss" || scheme == "valkeys"
}

// CheckMode returns an error if the server of redis.url is a node of a cluster or a Sentinel,
// according to the section Server of its INFO.
func CheckMode(r report.Redis, server map[string]string) error {
	switch mode := cmp.Or(server["redis_mode"], server["server_mode"]); { // Redis, Valkey
	case mode == "cluster" && len(r.Cluster) == 0:
		return errors.New("this server is a node of a Redis Cluster: write redis: {cluster: [host:port, …]} instead of a URL")
	case mode == "sentinel":
		return errors.New("this server is a Sentinel: write redis: {sentinel: {master: name, addresses: [host:port, …]}} instead of a URL")
	}
	return nil
}
