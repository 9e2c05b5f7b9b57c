package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// on is the doctor of a Redis, with keys of the test's own.
func on(t *testing.T, server *testenv.Redis) (*doctor, *redis.Client) {
	t.Helper()
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	s := scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: testmain.Name(t) + ":"}})
	o := inspect.Options{Scripts: scripts.Partitions{s}}
	return &doctor{Options{Options: o}, inspect.New(o), nil}, client
}

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
			d, _ := on(t, server)
			servers, err := d.Scripts.Servers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			f := checkNotifications(t.Context(), d, servers[0])
			if c.missing == "" && f.Result != Pass ||
				c.missing != "" && (f.Result != Warn || !strings.HasSuffix(f.Detail, "not published: "+c.missing) || !strings.Contains(f.Hint, "notify-keyspace-events Kgz$x")) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestDoctorSeesWhatStandsStill: an entry is in work, and no process lives.
func TestDoctorSeesWhatStandsStill(t *testing.T) {
	t.Parallel()
	d, client := on(t, testmain.SharedRedis(t))
	ctx, stream := t.Context(), d.Scripts.First().Keys.Task("a")
	for _, err := range []error{
		client.XGroupCreateMkStream(ctx, stream, scripts.Group, "0").Err(),
		client.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []string{"id", "1", "attempt", "1"}}).Err(),
		client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "dead", Streams: []string{stream, ">"}}).Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func() Finding {
		return checkStream(ctx, d.Scripts.First(), stream, inspect.Reader{Silence: time.Second}, false)
	}
	if f := check(); f.Result != Pass {
		t.Errorf("%+v", f)
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		f := check()
		if f.Result == Warn && strings.Contains(f.Detail, "1 of them in work") && strings.Contains(f.Detail, "the entries in work stand still") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%+v", f)
		}
	}
}
