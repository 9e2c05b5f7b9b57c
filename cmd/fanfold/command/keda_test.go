package command

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/scripts"
)

// object has the fields of a Kubernetes object that the examples use. The test fails on other
// fields.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		Replicas *int
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels, Annotations map[string]string }
			Spec     struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Name, Image    string
					Args           []string
					LivenessProbe  probe            `yaml:"livenessProbe"`
					ReadinessProbe probe            `yaml:"readinessProbe"`
					VolumeMounts   []map[string]any `yaml:"volumeMounts"`
				}
				Volumes []map[string]any
			}
		}
		// Of a ScaledObject.
		ScaleTargetRef  struct{ Name string } `yaml:"scaleTargetRef"`
		PollingInterval int                   `yaml:"pollingInterval"`
		CooldownPeriod  int                   `yaml:"cooldownPeriod"`
		MinReplicaCount int                   `yaml:"minReplicaCount"`
		MaxReplicaCount int                   `yaml:"maxReplicaCount"`
		Triggers        []struct {
			Type     string
			Metadata map[string]any
		}
	}
}

type probe struct {
	HTTPGet struct {
		Path string
		Port int
	} `yaml:"httpGet"`
}

// kubernetes reads the objects in a file of examples/keda.
func kubernetes(t *testing.T, name string) (all []object) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../examples/keda", name))
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	for {
		var o object
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, o)
	}
}

// TestKEDA runs the Deployments of examples/keda as processes and reads what the triggers of the
// ScaledObject read: the metric with its labels, and the stream with its group.
func TestKEDA(t *testing.T) {
	t.Parallel()
	const listener, admin = "plt_fund.vs_withdraw", 9464
	deployments, scaled := kubernetes(t, "deployments.yaml"), kubernetes(t, "scaledobject.yaml")[0]
	if len(deployments) != 2 || scaled.Kind != "ScaledObject" || scaled.APIVersion != "keda.sh/v1alpha1" || scaled.Spec.ScaleTargetRef.Name != deployments[1].Metadata.Name {
		t.Fatalf("%+v scales %+v", scaled, deployments)
	}
	s := newStackAlone(t, nil, `
  scaled:
    listeners:
      plt_user.vs_user_tag_relation: {database: db, query: "SELECT seq AS k FROM seq_1_to_3"}
      plt_fund.vs_withdraw: {database: db, query: "SELECT seq AS k, seq AS a FROM seq_1_to_3"}
      plt_fund.vs_payment: {database: db, query: "SELECT seq AS k, seq AS b FROM seq_1_to_3"}
    join: {key: k}
`, "admin: {public: true}")
	// start runs a Deployment, with the file and the port of this test.
	start := func(d object) string {
		spec, addr := d.Spec.Template.Spec, e2e.Address(t)
		c := spec.Containers[0]
		if d.Kind != "Deployment" || spec.Grace <= int(s.Config.Limits.ShutdownTimeout.Seconds()) || d.Spec.Template.Metadata.Labels["app"] != d.Spec.Selector.MatchLabels["app"] {
			t.Errorf("%+v", d)
		}
		if c.LivenessProbe.HTTPGet.Path != "/livez" || c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Port != admin || d.Spec.Template.Metadata.Annotations["prometheus.io/port"] != strconv.Itoa(admin) {
			t.Errorf("%+v", d)
		}
		args := slices.Clone(c.Args)
		for i, from := range map[int]string{1: "--config=/etc/fanfold/fanfold.yaml", 2: "--admin=0.0.0.0:" + strconv.Itoa(admin)} {
			if args[i] != from {
				t.Fatalf("%q is not %s", args[i], from)
			}
		}
		args[1], args[2] = "--config="+s.File, "--admin="+addr
		s.process(args...)
		s.Eventually(d.Metadata.Name+" is ready", func() bool { code, _ := e2e.Get(t, addr, "/readyz"); return code == 200 })
		return addr
	}
	core := start(deployments[0])

	known := map[string][]string{ // to KEDA 2.17
		"prometheus":    {"serverAddress", "query", "threshold", "activationThreshold", "ignoreNullValues", "namespace", "queryParameters", "unsafeSsl"},
		"redis-streams": {"address", "stream", "consumerGroup", "pendingEntriesCount", "streamLength", "lagCount", "activationLagCount", "databaseIndex", "enableTLS", "unsafeSsl", "usernameFromEnv", "passwordFromEnv"},
	}
	fields := map[string]map[string]string{}
	for _, trigger := range scaled.Spec.Triggers {
		fields[trigger.Type] = map[string]string{}
		for name, value := range trigger.Metadata {
			text, ok := value.(string)
			if !ok || !slices.Contains(known[trigger.Type], name) {
				t.Errorf("trigger %s: %s: %v is no field, or not in quotes", trigger.Type, name, value)
			}
			fields[trigger.Type][name] = text
		}
	}
	redis := fields["redis-streams"]
	keys := s.Partitions.First().Keys
	if redis["stream"] != keys.Task(listener) || redis["consumerGroup"] != scripts.Group || redis["pendingEntriesCount"] != strconv.Itoa(s.Config.Sources["db"].MaxTasks) {
		t.Errorf("%+v", redis)
	}
	query := regexp.MustCompile(`^sum\(max by \((\w+)\) \((fanfold_\w+)\{(\w+=".*")\}\)\)$`).FindStringSubmatch(fields["prometheus"]["query"])
	if query == nil || query[1] != "partition" {
		t.Fatalf("what does %q read?", fields["prometheus"]["query"])
	}
	lag := func(addr string) float64 {
		t.Helper()
		all := scrape(t, addr)
		if !slices.ContainsFunc(all, func(m sample) bool { return m.name == query[2] && m.has(query[3]) }) {
			t.Fatalf("no process reports %s{%s}", query[2], query[3])
		}
		return sum(all, query[2], query[3])
	}
	ids := []string{s.Records.Insert("scaled", ""), s.Records.Insert("scaled", "")}
	s.Jobs.Push(ids...)
	s.Eventually("the listener without pods lags", func() bool { return lag(core) == 2 })
	if n := s.Redis.XLen(t.Context(), redis["stream"]).Val(); n != 2 {
		t.Errorf("%d entries in %s", n, redis["stream"])
	}
	addr := start(deployments[1])
	for _, v := range s.Jobs.Wait(ids...) {
		s.Files.Content(v)
	}
	s.Eventually("nothing lags", func() bool { return lag(core)+lag(addr) == 0 })
	if pending, err := s.Redis.XPending(t.Context(), redis["stream"], redis["consumerGroup"]).Result(); err != nil || pending.Count != 0 {
		t.Errorf("%+v %v", pending, err)
	}
}
