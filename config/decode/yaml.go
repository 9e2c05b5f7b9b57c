package decode

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// What the parser says where it meets the consequence of a mistake above.
const (
	misplacedColon = "mapping values are not allowed in this context"
	yamlRemedy     = "Check the indentation, and put quotes around text that has : # { } [ ] , & * or begins with another sign"
)

var (
	loneWord = regexp.MustCompile(`^\s*([A-Za-z_][0-9A-Za-z_.-]*)\s*$`)
	closers  = regexp.MustCompile(`[}\],\s]*$`)
)

// mistake is what is most likely wrong in a file that is not YAML, and where.
type mistake struct {
	line, column    int
	message, remedy string
}

// findMistake looks for common mistakes at the place where the parser gave up, and above
// it.
func findMistake(data []byte, failed *yaml.LoadError) mistake {
	m := mistake{max(1, failed.Mark.Line), max(1, failed.Mark.Column), "not YAML: " + failed.Message, yamlRemedy}
	if failed.Stage == yaml.ComposerStage {
		// What the composer says repeats a name from the file, which could be a piece of
		// a password without quotes.
		m.message = "not YAML: an alias whose anchor is not there"
		return m
	}
	lines := strings.Split(string(data), "\n")
	for i, line := range lines[:min(m.line, len(lines))] {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if at := strings.IndexByte(indent, '\t'); at >= 0 && len(indent) < len(strings.TrimRight(line, "\r")) {
			return mistake{i + 1, at + 1, "not YAML: a tab in the indentation", "Indent with spaces"}
		}
	}
	if failed.Message == misplacedColon {
		for i := min(m.line-2, len(lines)-1); i >= 0; i-- {
			text := strings.TrimSpace(lines[i])
			if text == "" || strings.HasPrefix(text, "#") {
				continue
			}
			if word := loneWord.FindStringSubmatch(lines[i]); word != nil {
				return mistake{i + 1, 1 + strings.Index(lines[i], word[1]), "not YAML: a name without a colon", "Write a colon behind it"}
			}
			break
		}
	}
	for _, i := range oddQuotes(lines[:min(m.line, len(lines))]) {
		line := lines[i]
		// With a quote at its end, does the parser come further?
		end := len(line) - len(closers.FindString(line))
		fixed := append([]string(nil), lines...)
		fixed[i] = line[:end] + `"` + line[end:]
		var documents []yaml.Node
		var next *yaml.LoadError
		if err := yaml.Load([]byte(strings.Join(fixed, "\n")), &documents, yaml.WithAllDocuments()); err == nil || errors.As(err, &next) && next.Mark.Line > m.line {
			return mistake{i + 1, 1 + strings.LastIndex(line, `"`), "not YAML: a quote that is opened here and not closed", `Write the closing "`}
		}
	}
	return m
}

// maxQuotesTried bounds how often a file is parsed again.
const maxQuotesTried = 20

// oddQuotes returns the last lines that have an odd number of quotes, in their order.
func oddQuotes(lines []string) []int {
	var odd []int
	for i := len(lines) - 1; i >= 0 && len(odd) < maxQuotesTried; i-- {
		if strings.Count(lines[i], `"`)%2 != 0 && !strings.HasPrefix(strings.TrimSpace(lines[i]), "#") {
			odd = append(odd, i)
		}
	}
	slices.Reverse(odd)
	return odd
}
