package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkArgs makes a command and its subcommands reject invalid arguments with exitUsage.
func (f *flags) checkArgs(c *cobra.Command) {
	if !c.HasSubCommands() {
		c.Args = asUsage(c.Args)
		return
	}
	// Without RunE, cobra prints the help and succeeds even if the arguments are wrong.
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fault.Input.Of(f.unknown(c, args[0]))
	}
	for _, below := range c.Commands() {
		f.checkArgs(below)
	}
}

// unknown returns the error for a word that is not a subcommand, with suggestions.
func (f *flags) unknown(c *cobra.Command, word string) error {
	text := fmt.Sprintf("unknown command %q for %q", word, c.CommandPath())
	var suggestions []string
	if takesNames(c) {
		suggestions = f.suggestName(c, word)
	}
	c.SuggestionsMinimumDistance = 2
	if len(suggestions) == 0 {
		for _, name := range c.SuggestionsFor(word) {
			suggestions = append(suggestions, c.CommandPath()+" "+name)
		}
	}
	if len(suggestions) == 0 && takesNames(c) {
		suggestions = []string{c.CommandPath() + " report NAME", c.CommandPath() + " listener NAME"}
	}
	if len(suggestions) > 0 {
		text += ": did you mean " + strings.Join(suggestions, " or ") + "?"
	}
	return fmt.Errorf("%s\n%s --help lists the commands", text, c.CommandPath())
}

// suggestFlag adds the most similar flag to the error of an unknown one.
func suggestFlag(c *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := report.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Errorf("%w: did you mean --%s?", err, near)
	}
	return fmt.Errorf("%w\n%s --help lists the flags", err, c.CommandPath())
}

// takesNames reports whether a command has the subcommands listener and report.
func takesNames(c *cobra.Command) bool {
	return slices.ContainsFunc(c.Commands(), func(below *cobra.Command) bool { return below.Name() == "listener" })
}

// suggestName returns the full command if the user left out listener or report before a name.
func (f *flags) suggestName(c *cobra.Command, name string) []string {
	var found []string
	config, err := process.LoadConfig(f.config, f.kinds)
	if err == nil && config.Reports[name] != nil {
		found = append(found, c.CommandPath()+" report "+name)
	}
	if err == nil && slices.Contains(config.ListenerNames(), name) {
		found = append(found, c.CommandPath()+" listener "+name)
	}
	return found
}

// asUsage wraps a check of arguments: it says which argument is wrong and exits with exitUsage.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	if check == nil {
		check = cobra.NoArgs
	}
	return func(c *cobra.Command, args []string) error {
		if check(c, args) == nil {
			return nil
		}
		_, wanted, _ := strings.Cut(c.Use, " ")
		err := errors.New("too many arguments: " + strings.Join(args, " "))
		if len(args) == 0 {
			err = fmt.Errorf("%s is missing", strings.TrimSuffix(strings.Fields(wanted)[0], "…"))
		} else if wanted == "" {
			err = fmt.Errorf("unknown argument %q: %s takes none", args[0], c.CommandPath())
		}
		return fault.Input.New("%w\nUsage: %s", err, c.UseLine())
	}
}

// complete completes an argument with names from the configuration, never with files.
func (f *flags) complete(names func(*config.Config) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		config, err := process.LoadConfig(f.config, f.kinds)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(config), cobra.ShellCompDirectiveNoFileComp
	}
}

// offer completes a flag with these values.
func offer(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag,
		cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag does not exist
	}
}
