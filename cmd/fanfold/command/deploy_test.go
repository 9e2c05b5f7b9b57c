package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
)

// TestCommandsOfDeploy: every command that the alert rules and the pages of deploy name exists,
// with its flags.
func TestCommandsOfDeploy(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`fanfold ([^`]+)`")
	found := 0
	for _, file := range []string{"prometheus/alerts.yaml", "README.md"} {
		text, err := os.ReadFile(filepath.Join("../../../deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			found++
			command, args, err := newRoot(kinds.Standard()).Find(strings.Fields(m[1]))
			if err == nil && !command.Runnable() {
				err = errors.New("it needs a subcommand")
			}
			if err == nil {
				err = command.ParseFlags(args)
			}
			if err == nil {
				err = command.ValidateArgs(command.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: fanfold %s: %v", file, m[1], err)
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d commands are named", found)
	}
}

// TestDeployFits: the configuration in the packages is valid, the systemd unit and the compose file
// set its environment variables, and both give a process enough time to stop.
func TestDeployFits(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("../../../deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first, err := process.LoadConfig("../../../deploy/fanfold.yaml", kinds.Standard())
	if err != nil || len(first.Warnings) > 0 {
		t.Fatalf("%v %v", err, first)
	}
	var compose struct {
		Services map[string]struct {
			Image       string
			Command     []string
			Environment map[string]string
			Volumes     []string
			Grace       string         `yaml:"stop_grace_period"`
			More        map[string]any `yaml:",inline"`
		}
		More map[string]any `yaml:",inline"`
	}
	if err := yaml.Unmarshal([]byte(read("docker/compose.yaml")), &compose); err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^#(FANFOLD_\w+)=`).FindAllStringSubmatch(read("systemd/environment"), -1)
	for name := range compose.Services["fanfold"].Environment {
		names = append(names, []string{"", name})
	}
	if len(names) != 5 {
		t.Errorf("variables: %q", names)
	}
	for _, m := range names {
		if !strings.Contains(read("fanfold.yaml"), "${"+m[1]+":-") {
			t.Errorf("fanfold.yaml does not use %s", m[1])
		}
	}
	for name, s := range compose.Services {
		if s.Image == "" {
			t.Errorf("%s has no image", name)
		}
		for _, volume := range s.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			if _, err := os.Stat(filepath.Join("../../../deploy/docker", from)); strings.HasPrefix(from, ".") && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	unit := read("systemd/fanfold.service")
	for of, grace := range map[string]string{
		"compose.yaml":    compose.Services["fanfold"].Grace,
		"fanfold.service": regexp.MustCompile(`(?m)^TimeoutStopSec=(\S+)$`).FindStringSubmatch(unit)[1],
	} {
		if d, err := time.ParseDuration(grace); err != nil || d < first.Limits.ShutdownTimeout+5*time.Second {
			t.Errorf("%s kills a process after %q", of, grace)
		}
	}
	if !strings.Contains(unit, fmt.Sprintf("\nRestartPreventExitStatus=%d %d\n", exitUsage, exitNewer)) {
		t.Error("systemd restarts a process whose configuration is wrong, or that is too old for its data")
	}
	for of, arguments := range map[string][]string{
		"fanfold.service": strings.Fields(regexp.MustCompile(`(?m)^ExecStart=/usr/bin/fanfold (.*)$`).FindStringSubmatch(unit)[1]),
		"compose.yaml":    compose.Services["migrate"].Command,
	} {
		command, rest, err := newRoot(kinds.Standard()).Find(arguments)
		if err == nil {
			err = command.ParseFlags(rest)
		}
		if err != nil || !command.Runnable() {
			t.Errorf("%s: %q: %v", of, arguments, err)
		}
	}
}
