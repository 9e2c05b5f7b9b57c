// Command fanfold makes report downloads that need data from many places. See
// the README, and fanfold --help.
package main

import "github.com/fanfold/fanfold/cmd/fanfold/command"

func main() { command.Main() }
