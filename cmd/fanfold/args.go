package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/report"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkArgs has a command and those below it refuse wrong arguments as wrong usage.
func (f *flags) checkArgs(c *cobra.Command) {
	if !c.HasSubCommands() {
		c.Args = asUsage(c.Args)
		return
	}
	// Without RunE cobra shows the help and calls it a success, whatever was given.
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return usage(f.unknown(c, args[0]))
	}
	for _, below := range c.Commands() {
		f.checkArgs(below)
	}
}

// unknown is the error of a word that is none of a command's commands.
func (f *flags) unknown(c *cobra.Command, word string) error {
	text := fmt.Sprintf("unknown command %q for %q", word, c.CommandPath())
	var meant []string
	if takesNames(c) {
		meant = f.meantName(c, word)
	}
	c.SuggestionsMinimumDistance = 2
	if len(meant) == 0 {
		for _, name := range c.SuggestionsFor(word) {
			meant = append(meant, c.CommandPath()+" "+name)
		}
	}
	if len(meant) == 0 && takesNames(c) {
		meant = []string{c.CommandPath() + " report NAME", c.CommandPath() + " listener NAME"}
	}
	if len(meant) > 0 {
		text += ": did you mean " + strings.Join(meant, " or ") + "?"
	}
	return fmt.Errorf("%s\n%s --help lists the commands", text, c.CommandPath())
}

// meantFlag adds to the error of an unknown flag the one that was probably meant.
func meantFlag(c *cobra.Command, err error) error {
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

// takesNames tells whether the commands below a command are for listeners and reports.
func takesNames(c *cobra.Command) bool {
	return slices.ContainsFunc(c.Commands(), func(below *cobra.Command) bool { return below.Name() == "listener" })
}

// meantName completes a command whose word listener or report was left out.
func (f *flags) meantName(c *cobra.Command, name string) []string {
	var meant []string
	config, err := process.LoadConfig(f.config)
	if err == nil && config.Reports[name] != nil {
		meant = append(meant, c.CommandPath()+" report "+name)
	}
	if err == nil && slices.Contains(config.ListenerNames(), name) {
		meant = append(meant, c.CommandPath()+" listener "+name)
	}
	return meant
}

// asUsage gives wrong arguments the exit code of wrong usage.
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
		return usage(fmt.Errorf("%w\nUsage: %s", err, c.UseLine()))
	}
}

// complete has a shell offer the names that a configuration has, instead of files.
func (f *flags) complete(names func(*config.Config) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		config, err := process.LoadConfig(f.config)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(config), cobra.ShellCompDirectiveNoFileComp
	}
}

// offer has a shell offer the values of a flag.
func offer(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is not there
	}
}
