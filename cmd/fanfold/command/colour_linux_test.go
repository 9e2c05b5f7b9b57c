package command

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/internal/screen"
)

// pseudoTerminal opens a pseudo-terminal: other reads what is written to terminal.
func pseudoTerminal(t *testing.T) (terminal, other *os.File) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	var locked, number uint32
	for request, value := range map[uintptr]*uint32{syscall.TIOCSPTLCK: &locked, syscall.TIOCGPTN: &number} {
		if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, other.Fd(), request, uintptr(unsafe.Pointer(value))); failed != 0 {
			t.Fatal(failed)
		}
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return terminal, other
}

// TestColours: only a terminal shows colours, and not if NO_COLOR or TERM forbids them. Escape
// sequences in data are never colours.
func TestColours(t *testing.T) {
	const green = "\x1b[32mPASS\x1b[0m"
	for _, c := range []struct {
		noColour, term string
		want           bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", c.noColour)
		t.Setenv("TERM", c.term)
		terminal, other := pseudoTerminal(t)
		command := &cobra.Command{}
		command.SetOut(screen.New(terminal))
		if err := (printer{"table"}).printFindings(command, doctor.Findings{{Check: "c", Result: doctor.Pass, Detail: "x\x1b[31m"}}); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4096)
		n, err := other.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(b[:n]); strings.Contains(text, green) != c.want || !strings.Contains(text, "PASS") || !strings.Contains(text, `x\u001b[31m`) {
			t.Errorf("%+v: %q", c, text)
		}
	}
	t.Setenv("NO_COLOR", "")
	var out strings.Builder
	command := &cobra.Command{}
	command.SetOut(screen.New(&out))
	if err := (printer{"table"}).printFindings(command, doctor.Findings{{Check: "c", Result: doctor.Pass}}); err != nil || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%v %q", err, out.String())
	}
}
