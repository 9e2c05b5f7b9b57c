package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
)

func newUser() *cobra.Command {
	c := &cobra.Command{Use: "user", Short: "Prepare the users of the pages and the API"}
	c.AddCommand(&cobra.Command{
		Use:   "hash USER",
		Short: "Print a line of http.users_file with the hash of a password",
		Long: `Hash prints the line USER:HASH for http.users_file. On a terminal, it asks for the
password twice and does not show it. Otherwise, the password is the first line of standard
input:

    fanfold user hash anna >> users.htpasswd`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !report.ValidUser(args[0]) {
				return fault.Input.New("user %q: a name has up to 100 letters, digits, and ._@+-", args[0])
			}
			password, err := readPassword(c)
			if err != nil {
				return fault.Input.Of(err)
			}
			hash, err := access.Hash(password)
			if err != nil {
				return fault.Input.Of(err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s:%s\n", args[0], hash)
			return err
		},
	})
	c.AddCommand(&cobra.Command{
		Use:   "token SERVICE",
		Short: "Print a new token for a service, and a line of http.tokens_file",
		Long: `Token makes a random token for the API. It prints the token on standard error, once, and
the line SERVICE:DIGEST for http.tokens_file, which does not contain it:

    fanfold user token shop >> service-tokens`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !report.ValidUser(args[0]) {
				return fault.Input.New("token %q: a name has up to 100 letters, digits, and ._@+-", args[0])
			}
			token, digest := access.NewToken()
			fmt.Fprintln(c.ErrOrStderr(), token)
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s:%s\n", args[0], digest)
			return err
		},
	})
	return c
}

// readPassword reads a password, from a terminal twice and without echo.
func readPassword(c *cobra.Command) (string, error) {
	in, ok := c.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		line, err := bufio.NewReader(c.InOrStdin()).ReadString('\n')
		if err != nil && err != io.EOF {
			return "", err
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	var typed [2]string
	for i, prompt := range []string{"Password: ", "Again: "} {
		fmt.Fprint(c.ErrOrStderr(), prompt)
		password, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(c.ErrOrStderr())
		if err != nil {
			return "", err
		}
		typed[i] = string(password)
	}
	if typed[0] != typed[1] {
		return "", errors.New("the passwords differ")
	}
	return typed[0], nil
}
