package decode

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// misplacedColon is the error of the parser after a mistake in an earlier line.
const (
	misplacedColon = "mapping values are not allowed in this context"
	yamlRemedy     = "Check the indentation, and quote texts that contain : # { } [ ] , & * or begin with another special character"
)

var (
	loneWord = regexp.MustCompile(`^\s*([A-Za-z_][0-9A-Za-z_.-]*)\s*$`)
	closers  = regexp.MustCompile(`[}\],\s]*$`)
)

// mistake is the likely mistake in a file that is not YAML, and its place.
type mistake struct {
	line, column    int
	message, remedy string
}

// findMistake searches for common mistakes at the place where the parser stopped and
// before it.
func findMistake(data []byte, failed *yaml.LoadError) mistake {
	m := mistake{max(1, failed.Mark.Line), max(1, failed.Mark.Column), "not YAML: " + failed.Message, yamlRemedy}
	if failed.Stage == yaml.ComposerStage {
		// The composer's message quotes the file, maybe a part of an unquoted password.
		m.message = "not YAML: an alias without an anchor"
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
				return mistake{i + 1, 1 + strings.Index(lines[i], word[1]), "not YAML: a name without a colon",
					"Add a colon after it"}
			}
			break
		}
	}
	for _, i := range oddQuotes(lines[:min(m.line, len(lines))]) {
		line := lines[i]
		// Does the parser get further with a quote at the end of the line?
		end := len(line) - len(closers.FindString(line))
		fixed := append([]string(nil), lines...)
		fixed[i] = line[:end] + `"` + line[end:]
		var documents []yaml.Node
		var next *yaml.LoadError
		if err := yaml.Load([]byte(strings.Join(fixed, "\n")), &documents, yaml.WithAllDocuments()); err == nil ||
			errors.As(err, &next) && next.Mark.Line > m.line {
			return mistake{i + 1, 1 + strings.LastIndex(line, `"`),
				"not YAML: the quote that opens here is not closed", `Add the closing "`}
		}
	}
	return m
}

// maxQuotesTried limits how often a file is parsed again.
const maxQuotesTried = 20

// oddQuotes returns the last lines with an odd number of quotes, in order.
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
