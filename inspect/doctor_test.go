package inspect

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv"
)

// TestServerNames are those of the answers to INFO server.
func TestServerNames(t *testing.T) {
	t.Parallel()
	for want, info := range map[string]map[string]string{
		"Redis 7.0.15":        {"redis_version": "7.0.15"},
		"Valkey 8.1.1":        {"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.1.1"},
		"Dragonfly df-v1.30.": {"redis_version": "7.4.0", "dragonfly_version": "df-v1.30."},
	} {
		if got := serverName(info); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if err := atLeast7(info["redis_version"]); err != nil {
			t.Error(want, err)
		}
	}
	for _, version := range []string{"6.2.14", ""} {
		if atLeast7(version) == nil {
			t.Errorf("%q is new enough", version)
		}
	}
}

// TestEviction fails where Redis may drop keys, and warns where a server does not tell.
func TestEviction(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{"noeviction": Pass, "volatile-ttl": Fail, "": Warn} {
		if f := checkEviction(policy); f.Result != want {
			t.Errorf("%q: %+v", policy, f)
		}
	}
}

// TestDoctorHearsEvents, and names those that it does not hear, also where CONFIG is refused.
func TestDoctorHearsEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []string
		missing  string // empty: none
	}{
		"as in redis.conf":           {nil, ""},
		"off":                        {[]string{"--notify-keyspace-events", ""}, "del, expired, set, zadd"},
		"a part":                     {[]string{"--notify-keyspace-events", "Kx$"}, "del, zadd"},
		"without CONFIG":             {[]string{"--rename-command", "CONFIG", ""}, ""},
		"a part, and without CONFIG": {[]string{"--notify-keyspace-events", "Kgz$", "--rename-command", "CONFIG", ""}, "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := testenv.StartRedis(t.Context(), t.TempDir(), c.settings...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Stop)
			b := setupOn(t, server, "")
			f := redisDoctor{b.Inspector}.checkNotifications(t.Context(), b.o.Redis.(*redis.Client))
			if c.missing == "" && f.Result != Pass ||
				c.missing != "" && (f.Result != Warn || !strings.HasSuffix(f.Detail, "not published: "+c.missing) || !strings.Contains(f.Hint, "by hand")) {
				t.Errorf("%+v", f)
			}
		})
	}
}
