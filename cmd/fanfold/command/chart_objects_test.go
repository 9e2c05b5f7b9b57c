package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// pod has the fields of a pod that the chart uses. The test fails on other fields.
type pod struct {
	Grace           int            `yaml:"terminationGracePeriodSeconds"`
	Token           *bool          `yaml:"automountServiceAccountToken"`
	Account         string         `yaml:"serviceAccountName"`
	SecurityContext map[string]any `yaml:"securityContext"`
	InitContainers  []container    `yaml:"initContainers"`
	Containers      []container
	Volumes         []map[string]any
}

type container struct {
	Name, Image     string
	ImagePullPolicy string `yaml:"imagePullPolicy"`
	Args            []string
	SecurityContext map[string]any `yaml:"securityContext"`
	Env             []struct{ Name, Value string }
	EnvFrom         []map[string]struct{ Name string } `yaml:"envFrom"`
	VolumeMounts    []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	StartupProbe struct {
		probe            `yaml:",inline"`
		PeriodSeconds    int `yaml:"periodSeconds"`
		FailureThreshold int `yaml:"failureThreshold"`
	} `yaml:"startupProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
	Resources      map[string]map[string]string
}

type deployment struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name   string
		Labels map[string]string
	}
	Spec struct {
		Replicas int
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels, Annotations map[string]string }
			Spec     pod
		}
	}
}

// secrets returns the names of the Secrets in the environment of a container. Of two values of a variable,
// the last one holds.
func secrets(c container) string {
	var names []string
	for _, from := range c.EnvFrom {
		names = append(names, from["secretRef"].Name)
	}
	return strings.Join(names, " ")
}

// selects reports whether a selector matches labels.
func selects(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

// reach is a Service, an Ingress or a PodDisruptionBudget, with the fields that the chart uses.
type reach struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name                string
		Labels, Annotations map[string]string
	}
	Spec struct {
		Type           string
		Selector       map[string]any
		MaxUnavailable int `yaml:"maxUnavailable"`
		Ports          []struct {
			Name       string
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
		ClassName string `yaml:"ingressClassName"`
		TLS       []struct {
			Hosts      []string
			SecretName string `yaml:"secretName"`
		}
		Rules []struct {
			Host string
			HTTP struct {
				Paths []struct {
					Path     string
					PathType string `yaml:"pathType"`
					Backend  struct {
						Service struct {
							Name string
							Port struct{ Name string }
						}
					}
				}
			}
		}
	}
}

func decoded[T any](t *testing.T, text string) (all []T) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	for {
		var one T
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		all = append(all, one)
	}
}

func texts(of map[string]any) map[string]string {
	all := map[string]string{}
	for name, value := range of {
		all[name] = fmt.Sprint(value)
	}
	return all
}
