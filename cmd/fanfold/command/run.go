package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

func newRun(f *flags) *cobra.Command {
	var given []string
	var wait bool
	var file string
	c := &cobra.Command{
		Use:   "run REPORT",
		Short: "Insert a record, push its id, and copy its file",
		Long: `Run inserts a PENDING record of a report and pushes its id, as a service does. It prints
the id. With --wait, it waits for the job and prints the result; the exit code is 4 if the
job failed or its id was quarantined.

    fanfold run tagged-withdrawals --param tag=vip --param from=2024-06-01 --file vip.csv

Run checks the parameters against the definition of the report before it inserts anything.
You can omit a parameter that has a default. For a list, repeat --param with the same name,
or give a JSON array: --param 'ids=[1, 2]'.

--file waits and then copies the job's file from the sink. FILE appears, or is replaced,
only when it is complete. --file - writes to standard output and sends all messages to
standard error; the output is complete only if the exit code is 0.

With TRACEPARENT in the environment, the job continues that trace.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: f.complete((*config.Config).ReportNames),
		RunE: f.connected(func(c *cobra.Command, b *backend, args []string) (err error) {
			r, err := b.Operate.Jobs.Report(args[0])
			if err != nil {
				return err
			}
			parameters, err := parseParameters(r, given)
			if err != nil {
				return fault.Input.Of(err)
			}
			var to *target
			if c.Flags().Changed("file") {
				if to, err = newTarget(c, file); err != nil {
					return fault.Input.New("--file %s: %w", file, err)
				}
				defer to.discard()
			}
			id, err := b.Operate.Jobs.Create(callerContext(c), record.Request{Report: r.Name, Parameters: parameters})
			if err != nil {
				return err
			}
			if err := b.warnUnserved(c, id); err != nil {
				return err
			}
			if !wait && to == nil {
				if f.output == "json" {
					return f.printNames(c, "pushed", []string{id})
				}
				_, err := fmt.Fprintln(c.OutOrStdout(), id)
				return err
			}
			views, err := f.waitFor(c, b, []string{id})
			if err != nil || to == nil {
				return err
			}
			if err := b.copyFile(c.Context(), views[0], to); err != nil {
				return fmt.Errorf("record %s is %s, but its file was not copied: %w\nfanfold url %s prints its location", id, views[0].Status, err, id)
			}
			return nil
		}),
	}
	c.Flags().StringArrayVar(&given, "param", nil, "a parameter, as `NAME=VALUE`; repeat for every parameter")
	c.Flags().BoolVar(&wait, "wait", false, "wait for the job to end")
	c.Flags().StringVar(&file, "file", "", "wait, and copy the job's file to `FILE`; - is standard output")
	f.completeParam(c)
	return c
}

// completeParam completes --param with the parameters of the report on the command line, and their options.
func (f *flags) completeParam(c *cobra.Command) {
	err := c.RegisterFlagCompletionFunc("param",
		func(_ *cobra.Command, args []string, begin string) (words []string, _ cobra.ShellCompDirective) {
			config, err := process.LoadConfig(f.config, f.kinds)
			if err == nil && len(args) > 0 && config.Reports[args[0]] != nil {
				for _, p := range config.Reports[args[0]].Parameters {
					words = append(words, completionsOf(p, begin)...)
				}
			}
			words = slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, begin) })
			return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		})
	if err != nil {
		panic(err) // the flag does not exist
	}
}

// completionsOf returns the completions of a parameter: its name with what it means, or the values that it takes.
func completionsOf(p report.Parameter, begin string) (words []string) {
	name := p.Name + "="
	if !strings.HasPrefix(begin, name) {
		// A shell shows one line.
		return []string{strings.TrimSuffix(name+"\t"+strings.Join(strings.Fields(p.Description), " "), "\t")}
	}
	values := p.Options
	if p.Type == report.ParamBoolean {
		values = []string{"true", "false"}
	}
	for _, value := range values {
		words = append(words, name+value)
	}
	return words
}

// parameterTexts returns the texts of parameters such as tag=vip, by name. The error lists those without a value.
func parameterTexts(given []string) (map[string][]string, error) {
	texts := map[string][]string{}
	var wrong []error
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			wrong = append(wrong, fmt.Errorf("--param %s: no value: write --param NAME=VALUE", report.Shorten(text)))
			continue
		}
		texts[name] = append(texts[name], value)
	}
	return texts, errors.Join(wrong...)
}

// parseParameters encodes texts such as tag=vip as the JSON object of a record's parameters. The error
// lists every mistake with its remedy.
func parseParameters(r *report.Report, given []string) ([]byte, error) {
	var wrong []string
	texts, err := parameterTexts(given)
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	object, types := map[string]json.RawMessage{}, map[string]report.Parameter{}
	for _, p := range r.Parameters {
		types[p.Name] = p
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		p, given := types[name], texts[name]
		if object[name] = p.FromTexts(given); len(given) > 1 && p.Name != "" && !p.List {
			wrong = append(wrong, fmt.Sprintf("--param %s is given %d times, but is not a list: give it once", name,
				len(given)))
		}
	}
	values, mistakes := r.Check(object, time.Now())
	for _, m := range mistakes {
		remedy := strings.ToLower(m.Remedy[:1]) + m.Remedy[1:]
		switch {
		case m.Unknown:
			hint := "it has " + r.ParameterList()
			if near := report.Nearest(m.Name, slices.Sorted(maps.Keys(types))); near != "" {
				hint = "did you mean " + near + "?"
			}
			wrong = append(wrong, fmt.Sprintf("--param %s: report %s has no such parameter: %s",
				report.Shorten(m.Name), r.Name, hint))
		case m.Value == nil:
			wrong = append(wrong, fmt.Sprintf("parameter %s (%s) is missing: give --param %s=VALUE", m.Name,
				types[m.Name].Type, m.Name))
		default:
			wrong = append(wrong, fmt.Sprintf("--param %s=%s: it is %s: %s", m.Name,
				report.Shorten(strings.Join(texts[m.Name], " ")), m.Message, remedy))
		}
	}
	if len(wrong) > 0 {
		return nil, errors.New(strings.Join(wrong, "\n"))
	}
	return report.EncodeBound(values), nil
}
