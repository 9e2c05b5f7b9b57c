// Command fanfold-own is fanfold with two formats, a sink, a source and a timer action of its own.
package main

import (
	"example.com/kinds/folder"
	"example.com/kinds/memory"
	"example.com/kinds/note"
	"example.com/kinds/tsv"
	"example.com/kinds/zipped"

	"github.com/fanfold/fanfold/cmd/fanfold/command"
)

func main() { command.Main(tsv.Kind, zipped.Kind, memory.Kind, folder.Kind, note.Kind) }
