package command

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/report"
)

// hashOf runs user hash and returns the hash of the only user in its output.
func hashOf(t *testing.T, in io.Reader, name string) (hash string, err error) {
	t.Helper()
	var out bytes.Buffer
	all, err := kinds.With()
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(all)
	root.SetIn(in)
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs([]string{"user", "hash", name})
	if err := root.ExecuteContext(t.Context()); err != nil {
		return "", err
	}
	users, err := report.ParseUsers(out.String())
	return users[name], err
}

// TestUserHash: the server accepts the password, and it is never shown.
func TestUserHash(t *testing.T) {
	t.Parallel()
	const password = "correct horse: ä"
	for _, end := range []string{"", "\n", "\r\nnext line"} {
		hash, err := hashOf(t, strings.NewReader(password+end), "anna")
		if err != nil || bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) != nil {
			t.Errorf("%q: %q, %v", end, hash, err)
		}
	}
	for _, c := range [][2]string{{"a:b", "x"}, {"anna", ""}, {"anna", strings.Repeat("x", 73)}} {
		if _, err := hashOf(t, strings.NewReader(c[1]), c[0]); err == nil {
			t.Errorf("%q is accepted", c)
		}
	}
	for second, same := range map[string]bool{password: true, "other": false} {
		terminal, other := pseudoTerminal(t)
		shown := make(chan string, 1)
		go func() {
			text, _ := io.ReadAll(other)
			shown <- string(text)
		}()
		typed := make(chan struct{})
		go func() {
			defer close(typed)
			_, _ = other.WriteString(password + "\n" + second + "\n")
		}()
		hash, err := hashOf(t, terminal, "anna")
		<-typed
		if (err == nil) != same || same && bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) != nil {
			t.Errorf("%q: %q, %v", second, hash, err)
		}
		_ = terminal.Close()
		<-shown
	}
}

// TestUserToken: the line has the digest of the token, which only standard error shows.
func TestUserToken(t *testing.T) {
	t.Parallel()
	all, err := kinds.With()
	if err != nil {
		t.Fatal(err)
	}
	var out, shown bytes.Buffer
	root := newRoot(all)
	root.SetOut(&out)
	root.SetErr(&shown)
	root.SetArgs([]string{"user", "token", "shop"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(shown.String())
	tokens, err := report.ParseTokens(out.String())
	if err != nil || len(token) < 40 || tokens["shop"] != fmt.Sprintf("%x", sha256.Sum256([]byte(token))) || strings.Contains(out.String(), token) {
		t.Errorf("%q, %q: %v", out.String(), token, err)
	}
}
